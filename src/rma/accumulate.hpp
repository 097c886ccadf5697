// Read-modify-write of elements in memory that several processes change at once (MPI 5.0, 12.7.1).
//
// One mechanism an element, whoever applies it, the origin by a mapping or the target for it, and whatever
// the count: integers of 32 and 64 bits at their natural alignment by instructions of the processor, all
// others under the lock of the stripe of the target's memory in which their first byte lies, with the kernels
// of op/.  (A lock for floating point, too: 1 MiB by compare-and-swap takes ten times as long as by vectors.)
//
// Used by operation.cpp and shortcut.hpp (the origin) and messages.cpp (the target).
// Thread safety: any process and thread; `locks` are shared by all that work on the same memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>

#include "datatype/cursor.hpp"
#include "datatype/datatype.hpp"
#include "op/op.hpp"
#include "rma/segment.hpp"

namespace dunlin::rma {

/// Bytes of the word by which the processor changes elements of this kind where they are aligned; 0: it does
/// not.
[[gnu::always_inline]] constexpr std::size_t word_bytes_of(Basic basic) noexcept {
  constexpr auto set = [](auto... kinds) noexcept { return (... | (std::uint64_t{1} << unsigned(kinds))); };
  constexpr std::uint64_t k32 = set(Basic::i32, Basic::u32);
  constexpr std::uint64_t k64 = set(Basic::i64, Basic::u64, Basic::long_int, Basic::unsigned_long_int);
  static_assert(kBasicKinds <= 64);
  const auto is_one_of = [=](std::uint64_t kinds) noexcept { return kinds >> unsigned(basic) & 1; };
  return is_one_of(k64) ? 8 : is_one_of(k32) ? 4 : 0;
}
/// The same of an element at this address.
[[gnu::always_inline]] inline std::size_t word_bytes_at(const std::byte* at, Basic basic) noexcept {
  const std::size_t bytes = word_bytes_of(basic);
  return bytes && reinterpret_cast<std::uintptr_t>(at) % bytes == 0 ? bytes : 0;
}

/// One element, a word of so many bytes, becomes what one instruction of the processor can make of it; what
/// it was goes to `before`, where that is not null.  False: it takes more, and Elements has it.
[[gnu::always_inline]] inline bool combine_word(op::Operator operation, std::size_t bytes, std::byte* at,
                                                const void* operand, void* before) noexcept {
  const auto combine = [=]<class Word>(Word old) __attribute__((always_inline)) {
    auto* const word = reinterpret_cast<Word*>(at);
    if (operation == op::Operator::no_op) {
      old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    } else if (operation == op::Operator::sum || operation == op::Operator::replace) {
      std::memcpy(&old, operand, sizeof old);
      old = operation == op::Operator::sum ? __atomic_fetch_add(word, old, __ATOMIC_SEQ_CST)
                                           : __atomic_exchange_n(word, old, __ATOMIC_SEQ_CST);
    } else {
      return false;
    }
    if (before) std::memcpy(before, &old, sizeof old);
    return true;
  };
  return bytes == 8 ? combine(std::uint64_t{}) : combine(std::uint32_t{});
}

/// The same for compare-and-swap, which the processor always can.
[[gnu::always_inline]] inline void swap_word(std::size_t bytes, std::byte* at, const void* expected,
                                             const void* value, void* before) noexcept {
  const auto swap = [=]<class Word>(Word made) __attribute__((always_inline)) {
    Word old;
    std::memcpy(&old, expected, sizeof old);
    std::memcpy(&made, value, sizeof made);
    __atomic_compare_exchange_n(reinterpret_cast<Word*>(at), &old, made, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    std::memcpy(before, &old, sizeof old);
  };
  return bytes == 8 ? swap(std::uint64_t{}) : swap(std::uint32_t{});
}

/// Elements of one predefined type at `runs`, which together hold them packed (a pair with a gap is two
/// runs).
struct Elements {
  std::span<const Piece> runs;
  const Datatype& type;
  ElementLocks& locks;
  std::uint64_t first;  // where the window's first byte lies, or would lie, here

  /// Each element becomes `operand op element`; what it was goes to `before`, where that is not null.  Both
  /// are packed and may be unaligned; `operand` may be null for MPI_NO_OP.
  void combine(const Op& op, const std::byte* operand, std::byte* before) const noexcept;
  /// The one element becomes `value` if it equals `expected`; what it was goes to `before`.
  void compare_and_swap(const std::byte* expected, const std::byte* value, std::byte* before) const noexcept;

  /// The same of elements without gaps that begin in one stripe and that the processor does not change alone.
  [[gnu::always_inline]] void combine_under_lock(const Op& op, const Piece& part, const std::byte* operand,
                                                 std::byte* before) const noexcept {
    const std::lock_guard hold(lock_of(part.address));
    combine_locked(op, part, operand, before);
  }
  /// While its lock is held.
  [[gnu::always_inline]] void combine_locked(const Op& op, const Piece& part, const std::byte* operand,
                                             std::byte* before) const noexcept {
    if (before) std::memcpy(before, part.address, part.bytes);
    if (op.operation() == op::Operator::replace)
      std::memcpy(part.address, operand, part.bytes);
    else if (op.operation() != op::Operator::no_op)
      // Types without gaps have a power of two of bytes: a division would cost more than the operation.
      op.combine(operand, part.address,
                 std::int64_t(part.bytes >> std::countr_zero(std::size_t(type.size()))), type);
  }

  ShortLock& lock_of(const std::byte* element) const noexcept { return locks.of(offset_of(element)); }
  std::uint64_t offset_of(const std::byte* element) const noexcept {
    return reinterpret_cast<std::uintptr_t>(element) - first;
  }
};

/// The integers and logicals of the standard, and bytes: what MPI_Compare_and_swap takes (MPI 5.0, 12.3.4).
[[gnu::always_inline]] inline bool can_compare_and_swap(Basic basic) noexcept {
  switch (basic) {
    case Basic::byte:
    case Basic::i8:
    case Basic::i16:
    case Basic::i32:
    case Basic::i64:
    case Basic::i128:
    case Basic::u8:
    case Basic::u16:
    case Basic::u32:
    case Basic::u64:
    case Basic::long_int:
    case Basic::unsigned_long_int:
    case Basic::logical8:
    case Basic::logical16:
    case Basic::logical32:
    case Basic::logical64:
    case Basic::logical128:
    case Basic::c_bool:
      return true;
    default:
      return false;
  }
}

/// The next runs of `cursor`, whole elements of `element_bytes` together, at most `bytes_max` bytes.
std::size_t next_runs(Cursor& cursor, std::span<Piece> runs, std::size_t element_bytes,
                      std::size_t bytes_max) noexcept;

}  // namespace dunlin::rma
