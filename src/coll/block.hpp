// Pieces of a program's buffers as collectives see them: one block, or a row of blocks, one for each rank.
//
// Plain data, passed by value to tasks.  The arithmetic goes through integers, because a buffer may be
// MPI_BOTTOM.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>

#include "coll/own_arrays.hpp"
#include "datatype/cursor.hpp"
#include "datatype/datatype.hpp"
#include "object/int_array.hpp"
#include "object/object.hpp"

namespace dunlin::coll {

inline std::byte* offset(const void* base, std::int64_t bytes) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + std::uintptr_t(bytes));
}

inline bool is_in_place(const void* buffer) noexcept { return buffer == MPI_IN_PLACE; }

/// `count` elements of `type`, or `count` bytes where `type` is nullptr.
struct Block {
  std::byte* at = nullptr;
  std::int64_t count = 0;
  const Datatype* type = nullptr;

  static Block of_bytes(void* at, std::size_t bytes) noexcept {
    return {static_cast<std::byte*>(at), std::int64_t(bytes), nullptr};
  }
  std::size_t bytes() const noexcept { return std::size_t(type ? count * type->size() : count); }
  bool is_contiguous() const noexcept { return !type || type->is_contiguous(); }
  Source source() const noexcept {
    return type ? source_of(*type, at, count) : Source{at, std::size_t(count), nullptr, 0};
  }
  Target target() const noexcept {
    return type ? target_of(*type, at, count) : Target{at, std::size_t(count), nullptr, 0};
  }
};

/// Local copy, from layout to layout.  The blocks must not overlap.
inline void copy(const Block& from, const Block& to) noexcept { copy_data(from.source(), to.target()); }

/// One block per rank: equal and side by side (gather), of several counts (gatherv), or also of several types
/// (alltoallw).
struct Blocks {
  std::byte* base = nullptr;
  std::int64_t count = 0;   // elements of a block, where `counts` is empty
  std::int64_t stride = 0;  // elements from a block to the next, where `counts` is empty
  IntArray counts;
  IntArray displacements;          // in extents of `type`; in bytes where `types` is set
  const Datatype* type = nullptr;  // nullptr: bytes
  const MPI_Datatype* types = nullptr;

  static Blocks equal(const void* base, std::int64_t count, const Datatype* type) noexcept {
    return {offset(base, 0), count, count, {}, {}, type, nullptr};
  }
  /// The same block for every rank.
  static Blocks same(const Block& block) noexcept {
    return {block.at, block.count, 0, {}, {}, block.type, nullptr};
  }
  static Blocks varied(const void* base, IntArray counts, IntArray displacements,
                       const Datatype* type) noexcept {
    return {offset(base, 0), 0, 0, counts, displacements, type, nullptr};
  }
  static Blocks mixed(const void* base, IntArray counts, IntArray displacements,
                      const MPI_Datatype* types) noexcept {
    return {offset(base, 0), 0, 0, counts, displacements, nullptr, types};
  }

  /// From now on with arrays of our own, which are those of `ranks` ranks.
  void own(OwnArrays& arrays, int ranks) noexcept {
    counts = arrays.copy(counts, ranks);
    displacements = arrays.copy(displacements, ranks);
    types = arrays.copy(types, ranks);
  }
  bool is_equal() const noexcept { return !counts.data && !types; }
  /// Equal blocks only: the blocks of `ranks` ranks from `first` on, as one.
  Block run(int first, int ranks) const noexcept {
    const std::int64_t extent = type ? type->extent() : 1;
    return {offset(base, first * count * extent), ranks * count, type};
  }

  Block operator[](int rank) const noexcept {
    if (types) return {offset(base, displacements[rank]), counts[rank], from_handle<Datatype>(types[rank])};
    const std::int64_t extent = type ? type->extent() : 1;
    if (counts.data) return {offset(base, displacements[rank] * extent), counts[rank], type};
    return {offset(base, rank * stride * extent), count, type};
  }
};

}  // namespace dunlin::coll
