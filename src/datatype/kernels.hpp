// hot path: copying blocks of one size between two layouts; budget about one nanosecond a block in cache.
//
// A memcpy whose size is known only at run time costs five to six times a load and a store of that size, so
// there is one kernel for each small block size, chosen once per call of the walk.  A dense side is a layout
// whose stride is the block.  Called by datatype/cursor.cpp and datatype/copy.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/little_behind.hpp"
#include "datatype/layout.hpp"

namespace dunlin::datatype {

/// Address arithmetic that may start from MPI_BOTTOM, which is the null pointer.
template <class Byte>
inline Byte* moved(Byte* address, std::int64_t bytes) noexcept {
  const auto by = static_cast<std::uintptr_t>(bytes);
  return reinterpret_cast<Byte*>(reinterpret_cast<std::uintptr_t>(address) + by);
}

/// One side of a copy of n[1] rows of n[0] blocks; strides in bytes.
struct Grid {
  std::int64_t stride[2];  // between blocks, between rows
};

/// Copies rows * columns blocks of `block` bytes.
using GridKernel = void (*)(std::byte* to, Grid to_grid, const std::byte* from, Grid from_grid,
                            std::int64_t columns, std::int64_t rows, std::int64_t block);
GridKernel grid_kernel(std::int64_t block) noexcept;
/// The same for `n` blocks whose strides are known: prefetches where the blocks are many and far apart.
GridKernel grid_kernel(std::int64_t block, std::int64_t to_stride, std::int64_t from_stride,
                       std::int64_t n) noexcept;

/// Copies n blocks of `block` bytes; `offsets` apply to the from side, the to side, or both.
using IndexedKernel = void (*)(std::byte* to, const std::byte* from, const std::int32_t* offsets,
                               std::int64_t n, std::int64_t block);
struct IndexedKernels {
  IndexedKernel gather, scatter, same;
};
const IndexedKernels& indexed_kernels(std::int64_t block) noexcept;

/// Copies `bytes` bytes; inline for the short ones that lists of irregular blocks are made of.
inline void copy_run(std::byte* to, const std::byte* from, std::int64_t bytes) noexcept {
  const auto n = static_cast<std::size_t>(bytes);
  const auto overlapping = [=]<class Word>(Word) noexcept {  // two moves that meet or overlap in the middle
    Word head, tail;
    std::memcpy(&head, from, sizeof head);
    std::memcpy(&tail, from + n - sizeof tail, sizeof tail);
    std::memcpy(to, &head, sizeof head);
    std::memcpy(to + n - sizeof tail, &tail, sizeof tail);
  };
  struct Words { std::uint64_t word[2]; };
  struct LongWords { std::uint64_t word[4]; };
  if (n > 64) {
    copy_block(to, from, n);
  } else if (n >= 32) {
    overlapping(LongWords{});
  } else if (n >= 16) {
    overlapping(Words{});
  } else if (n >= 8) {
    overlapping(std::uint64_t{});
  } else if (n >= 4) {
    overlapping(std::uint32_t{});
  } else if (n >= 2) {
    overlapping(std::uint16_t{});
  } else if (n == 1) {
    *to = *from;
  }
}

/// Irregular blocks; the dense side starts at blocks[0].
void gather_blocks(std::byte* to, const std::byte* from, const Block* blocks, std::int64_t n) noexcept;
void scatter_blocks(std::byte* to, const std::byte* from, const Block* blocks, std::int64_t n) noexcept;
void copy_blocks(std::byte* to, const std::byte* from, const Block* blocks, std::int64_t n) noexcept;

/// Copies n records `stride` bytes apart between two buffers of one layout, several runs at once; false where
/// this processor cannot or it would not pay.  Bytes between the runs are never written.
bool try_copy_records(std::byte* to, const std::byte* from, std::int64_t n, std::int64_t stride,
                      const Layout& record) noexcept;

}  // namespace dunlin::datatype
