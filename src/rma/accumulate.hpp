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

#include <cstddef>
#include <cstdint>
#include <span>

#include "datatype/cursor.hpp"
#include "datatype/datatype.hpp"
#include "op/op.hpp"
#include "rma/segment.hpp"

namespace dunlin::rma {

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

  ShortLock& lock_of(const std::byte* element) const noexcept { return locks.of(offset_of(element)); }
  std::uint64_t offset_of(const std::byte* element) const noexcept {
    return reinterpret_cast<std::uintptr_t>(element) - first;
  }
};

/// The integers and logicals of the standard, and bytes: what MPI_Compare_and_swap takes (MPI 5.0, 12.3.4).
bool can_compare_and_swap(const Datatype& type) noexcept;

/// The next runs of `cursor`, whole elements of `element_bytes` together, at most `bytes_max` bytes.
std::size_t next_runs(Cursor& cursor, std::span<Piece> runs, std::size_t element_bytes,
                      std::size_t bytes_max) noexcept;

}  // namespace dunlin::rma
