// The shortest way of a short one-sided operation: where the target's memory lies here and an epoch is open,
// one load or store.
//
// Called by the C bindings before anything else.  The story: the handle is a window's, the target has facts
// (Part in window.hpp) that say how many bytes may be done here, the displacement lies within reach; then it
// is done.  A shortcut has no opinion on errors, layouts or threads: whatever it does not recognise at once
// it declines, and the call goes the general way (operation.cpp).
// hot path: MPI_Put of 8 bytes takes 35 instructions, MPI_Get 34, in a dynamic window 44 and 43,
// MPI_Win_flush 13 after a put, else 11; a sum by MPI_Fetch_and_op 49 and 52 (GCC 12).
// Thread safety: the facts allow nothing where base/big_lock.hpp is needed.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/copy_short.hpp"
#include "op/kernels.hpp"
#include "op/op.hpp"
#include "os/memory_order.hpp"
#include "rma/accumulate.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {

/// Bytes of the predefined types by handle, 0 for all others; filled in by create.cpp.
inline constexpr std::size_t kTypeHandlesEnd = 1024;
[[gnu::visibility("hidden")]] extern std::uint8_t bytes_of_handle[kTypeHandlesEnd];
/// The same of those that the processor changes where they are aligned (word_bytes_of).
[[gnu::visibility("hidden")]] extern std::uint8_t word_of_handle[kTypeHandlesEnd];

/// Operations of so many bytes take the shortcut; longer ones are copied with more care (operation.cpp).
inline constexpr std::uint64_t kShortBytesMax = 64 << 10;

/// Elements of one predefined type, the same number and type at both sides.
struct ShortData {
  MPI_Datatype type;
  std::int64_t count;
};

/// No window is predefined.
[[gnu::always_inline]] inline Window* window_behind(MPI_Win handle) noexcept {
  auto* const object = reinterpret_cast<Object*>(handle);
  if (reinterpret_cast<std::uintptr_t>(handle) < kPredefinedHandles || object->kind() != Kind::win)
    return nullptr;
  return static_cast<Window*>(object);
}

/// The bytes of these elements; false: their type is not predefined, or nobody has so many.
[[gnu::always_inline]] inline bool try_count_bytes(const ShortData& data, std::int64_t& bytes) noexcept {
  const auto type = reinterpret_cast<std::uintptr_t>(data.type);
  return type < kTypeHandlesEnd &&
         !__builtin_mul_overflow(data.count, std::int64_t(bytes_of_handle[type]), &bytes);
}
/// Neither none nor negative.
[[gnu::always_inline]] inline bool is_short(std::int64_t bytes) noexcept {
  return std::uint64_t(bytes) - 1 < kShortBytesMax;
}

[[gnu::always_inline]] inline bool has_rank(const Window* window, int rank) noexcept {
  return window && unsigned(rank) < unsigned(window->size);
}
/// Not null, nor MPI_IN_PLACE.
[[gnu::always_inline]] inline bool is_buffer(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) > 1;
}

/// Bytes of a target's memory.
struct Found {
  const Part* part = nullptr;  // the target's; nullptr: declined
  Piece place = {};
};
[[gnu::always_inline]] inline Found find_bytes(const void* buffer, std::uint64_t bytes, int target_rank,
                                               MPI_Aint target_disp, MPI_Win win) noexcept {
  const Window* const window = window_behind(win);
  if (!has_rank(window, target_rank) || !is_buffer(buffer)) [[unlikely]]
    return {};
  const Part& part = window->part(target_rank);
  // What is before the first is too much here, and so is what is negative.
  const auto from_first = std::int64_t(std::uint64_t(target_disp) - part.from());
  std::int64_t offset;
  std::uint64_t end;
  if (__builtin_mul_overflow(from_first, std::int64_t(part.unit), &offset) ||
      __builtin_add_overflow(std::uint64_t(offset), bytes, &end) || end > part.reach) [[unlikely]]
    return {};
  if (part.attached && !part.is_still_attached()) [[unlikely]]
    return {};
  return {&part, {part.first_here + (end - bytes), bytes}};
}
/// Does `use(place)` where these bytes are.  False: declined.
template <class Use>
[[gnu::always_inline]] inline bool try_bytes(const void* buffer, std::uint64_t bytes, int target_rank,
                                             MPI_Aint target_disp, MPI_Win win, const Use& use) noexcept {
  const Found found = find_bytes(buffer, bytes, target_rank, target_disp, win);
  if (!found.part) return false;
  use(found.place);
  return true;
}
/// The same of a word.  Where one may begin is known as a displacement: nothing overflows on the way there.
template <class Use>
[[gnu::always_inline]] inline bool try_word(const void* buffer, int target_rank, MPI_Aint target_disp,
                                            MPI_Win win, const Use& use) noexcept {
  const Window* const window = window_behind(win);
  if (!has_rank(window, target_rank) || !is_buffer(buffer)) [[unlikely]]
    return false;
  const Part& part = window->part(target_rank);
  const auto displacement = std::uint64_t(target_disp);
  if (displacement >= part.words_reach) [[unlikely]]
    if (displacement - part.from() >= part.attached_words || !part.is_still_attached()) return false;
  use(Piece{part.here(displacement * part.unit), sizeof(std::uint64_t)});
  return true;
}

[[gnu::always_inline]] inline void move_short(std::byte* to, const std::byte* from,
                                              std::size_t bytes) noexcept {
  if (bytes == sizeof(std::uint64_t)) [[likely]]
    std::memcpy(to, from, sizeof(std::uint64_t));
  else if (bytes <= 64)
    copy_short(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

/// True: it is done.
[[gnu::always_inline]] inline bool try_put_short(const void* origin, std::int64_t count, MPI_Datatype type,
                                                 int target_rank, MPI_Aint target_disp,
                                                 std::int64_t target_count, MPI_Datatype target_type,
                                                 MPI_Win win) noexcept {
  std::int64_t bytes;
  if (type != target_type || count != target_count || !try_count_bytes({type, count}, bytes)) [[unlikely]]
    return false;
  const auto move = [origin](const Piece& place) __attribute__((always_inline)) {
    stores_are_pending = true;
    move_short(place.address, static_cast<const std::byte*>(origin), place.bytes);
  };
  if (bytes == sizeof(std::uint64_t)) [[likely]]
    return try_word(origin, target_rank, target_disp, win, move);
  return is_short(bytes) && try_bytes(origin, std::uint64_t(bytes), target_rank, target_disp, win, move);
}

[[gnu::always_inline]] inline bool try_get_short(void* origin, std::int64_t count, MPI_Datatype type,
                                                 int target_rank, MPI_Aint target_disp,
                                                 std::int64_t target_count, MPI_Datatype target_type,
                                                 MPI_Win win) noexcept {
  std::int64_t bytes;
  if (type != target_type || count != target_count || !try_count_bytes({type, count}, bytes)) [[unlikely]]
    return false;
  const auto move = [origin](const Piece& place) __attribute__((always_inline)) {
    move_short(static_cast<std::byte*>(origin), place.address, place.bytes);
  };
  if (bytes == sizeof(std::uint64_t)) [[likely]]
    return try_word(origin, target_rank, target_disp, win, move);
  return is_short(bytes) && try_bytes(origin, std::uint64_t(bytes), target_rank, target_disp, win, move);
}

/// The kind of a type that has bytes (try_count_bytes).
[[gnu::always_inline]] inline Basic kind_of(MPI_Datatype type) noexcept {
  return op::kind_of_handle[reinterpret_cast<std::uintptr_t>(type) -
                            reinterpret_cast<std::uintptr_t>(MPI_DATATYPE_NULL)];
}

/// Where these elements lie; the locks that they may need are those of the target.
inline Elements elements_at(const Piece& place, MPI_Datatype type, const Part& part) noexcept {
  return {{&place, 1}, *from_handle<Datatype>(type), part.block->elements, part.begin};
}
/// An operator that is defined for the type; with MPI_NO_OP the origin's buffer means nothing.
[[gnu::always_inline]] inline bool try_combine_short(const void* origin, void* result, std::int64_t count,
                                                     MPI_Datatype type, int target_rank, MPI_Aint target_disp,
                                                     MPI_Op op_handle, MPI_Win win) noexcept {
  const std::uintptr_t number =
      reinterpret_cast<std::uintptr_t>(op_handle) - reinterpret_cast<std::uintptr_t>(MPI_OP_NULL);
  std::int64_t bytes;
  if (number >= op::kOperators || !try_count_bytes({type, count}, bytes) || !is_short(bytes)) return false;
  const auto operation = static_cast<op::Operator>(number);
  const Basic kind = kind_of(type);
  const bool is_no_op = operation == op::Operator::no_op;
  if (!op::kernels.at(operation, kind).two && operation != op::Operator::replace && !is_no_op) return false;
  const Found found =
      find_bytes(is_no_op ? result : origin, std::uint64_t(bytes), target_rank, target_disp, win);
  if (!found.part) return false;
  const Part& part = *found.part;
  const Piece& place = found.place;
  const auto* const operand = static_cast<const std::byte*>(origin);
  auto* const before = static_cast<std::byte*>(result);
  if (count == 1 && word_bytes_at(place.address, kind) == 0) {
    const Elements elements = elements_at(place, type, part);
    const std::lock_guard hold(elements.lock_of(place.address));  // orders what is stored
    elements.combine_locked(*from_handle<Op>(op_handle), place, operand, before);
    return true;
  }
  if (count == 1 && combine_word(operation, word_bytes_of(kind), place.address, origin, result)) return true;
  stores_are_pending = true;
  elements_at(place, type, part).combine(*from_handle<Op>(op_handle), operand, before);
  return true;
}

[[gnu::always_inline]] inline bool try_accumulate_short(const void* origin, std::int64_t count,
                                                        MPI_Datatype type, int target_rank,
                                                        MPI_Aint target_disp, std::int64_t target_count,
                                                        MPI_Datatype target_type, MPI_Op op,
                                                        MPI_Win win) noexcept {
  return type == target_type && count == target_count &&
         try_combine_short(origin, nullptr, count, type, target_rank, target_disp, op, win);
}

/// One aligned element that the processor changes, `change(place, bytes)` with one instruction.
template <class Change>
[[gnu::always_inline]] inline bool try_change_word(const void* buffer, MPI_Datatype type, int target_rank,
                                                   MPI_Aint target_disp, MPI_Win win,
                                                   const Change& change) noexcept {
  const auto handle = reinterpret_cast<std::uintptr_t>(type);
  const std::uint64_t bytes = handle < kTypeHandlesEnd ? word_of_handle[handle] : 0;
  if (bytes == 0) [[unlikely]]
    return false;
  const Found found = find_bytes(buffer, bytes, target_rank, target_disp, win);
  if (!found.part || (reinterpret_cast<std::uintptr_t>(found.place.address) & (bytes - 1)) != 0) [[unlikely]]
    return false;
  change(found.place.address, bytes);
  return true;
}

[[gnu::always_inline]] inline bool try_fetch_and_op_word(const void* origin, void* result, MPI_Datatype type,
                                                         int target_rank, MPI_Aint target_disp, MPI_Op op,
                                                         MPI_Win win) noexcept {
  if (op != MPI_SUM || !is_buffer(result)) [[unlikely]]
    return false;
  return try_change_word(origin, type, target_rank, target_disp, win,
                         [&](std::byte* place, std::size_t bytes) __attribute__((always_inline)) {
                           combine_word(op::Operator::sum, bytes, place, origin, result);
                         });
}
[[gnu::always_inline]] inline bool try_fetch_and_op_short(const void* origin, void* result, MPI_Datatype type,
                                                          int target_rank, MPI_Aint target_disp, MPI_Op op,
                                                          MPI_Win win) noexcept {
  return is_buffer(result) && try_combine_short(origin, result, 1, type, target_rank, target_disp, op, win);
}

[[gnu::always_inline]] inline bool try_compare_and_swap_word(const void* origin, const void* compare,
                                                             void* result, MPI_Datatype type, int target_rank,
                                                             MPI_Aint target_disp, MPI_Win win) noexcept {
  return is_buffer(compare) && is_buffer(result) &&
         try_change_word(origin, type, target_rank, target_disp, win,
                         [&](std::byte* place, std::size_t bytes) __attribute__((always_inline)) {
                           swap_word(bytes, place, compare, origin, result);
                         });
}
[[gnu::always_inline]] inline bool try_compare_and_swap_short(const void* origin, const void* compare,
                                                              void* result, MPI_Datatype type,
                                                              int target_rank, MPI_Aint target_disp,
                                                              MPI_Win win) noexcept {
  std::int64_t bytes;
  if (!try_count_bytes({type, 1}, bytes) || !is_short(bytes) || !can_compare_and_swap(kind_of(type)) ||
      !is_buffer(compare) || !is_buffer(result))
    return false;
  const Found found = find_bytes(origin, std::uint64_t(bytes), target_rank, target_disp, win);
  if (!found.part) return false;
  elements_at(found.place, type, *found.part)
      .compare_and_swap(static_cast<const std::byte*>(compare), static_cast<const std::byte*>(origin),
                        static_cast<std::byte*>(result));
  return true;
}

/// Nothing by message is under way, and all targets are locked: only the order is left, of what was stored
/// since the last fence of the processor.
[[gnu::always_inline]] inline bool try_flush_short(int rank, MPI_Win handle) noexcept {
  Window* const window = window_behind(handle);
  if (!window || unsigned(rank) >= window->flushable || --window->calls_until_poll < 0) return false;
  if (stores_are_pending) [[likely]]
    order_stores();
  if (!os::kIsTotalStoreOrder) std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}

}  // namespace dunlin::rma
