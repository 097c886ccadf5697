// The kernels by block size (kernels.hpp).
#include "datatype/kernels.hpp"

#include <array>
#include <utility>

namespace dunlin::datatype {

namespace {

// Blocks of up to this many bytes have a kernel of their own; above, a call of memcpy is cheap beside the
// copy itself.
constexpr std::int64_t kTemplatedBytesMax = 64;
template <std::int64_t kBlock>
void copy_row(std::byte* __restrict to, std::int64_t to_stride, const std::byte* __restrict from,
              std::int64_t from_stride, std::int64_t n) noexcept {
  // Four at a time: below that the loop itself is the limit in cache.  Loading several blocks before storing
  // them was tried: up to 30 % faster for tiny strides, up to 70 % slower where lines come from memory.
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, kBlock);
}

template <std::int64_t kBlock>
void copy_grid(std::byte* to, Grid to_grid, const std::byte* from, Grid from_grid, std::int64_t columns,
               std::int64_t rows, std::int64_t) noexcept {
  for (std::int64_t row = 0; row < rows; ++row) {
    copy_row<kBlock>(to, to_grid.stride[0], from, from_grid.stride[0], columns);
    to += to_grid.stride[1];
    from += from_grid.stride[1];
  }
}

void copy_grid_long(std::byte* to, Grid to_grid, const std::byte* from, Grid from_grid, std::int64_t columns,
                    std::int64_t rows, std::int64_t block) noexcept {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i)
      std::memcpy(to + i * to_grid.stride[0], from + i * from_grid.stride[0],
                  static_cast<std::size_t>(block));
    to += to_grid.stride[1];
    from += from_grid.stride[1];
  }
}

template <std::int64_t kBlock>
void gather(std::byte* __restrict to, const std::byte* __restrict from, const std::int64_t* offsets,
            std::int64_t n, std::int64_t) noexcept {
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * kBlock, moved(from, offsets[i]), kBlock);
}

template <std::int64_t kBlock>
void scatter(std::byte* __restrict to, const std::byte* __restrict from, const std::int64_t* offsets,
             std::int64_t n, std::int64_t) noexcept {
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(moved(to, offsets[i]), from + i * kBlock, kBlock);
}

template <std::int64_t kBlock>
void same(std::byte* __restrict to, const std::byte* __restrict from, const std::int64_t* offsets,
          std::int64_t n, std::int64_t) noexcept {
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(moved(to, offsets[i]), moved(from, offsets[i]), kBlock);
}

void gather_long(std::byte* to, const std::byte* from, const std::int64_t* offsets, std::int64_t n,
                 std::int64_t block) noexcept {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(to + i * block, moved(from, offsets[i]), static_cast<std::size_t>(block));
}

void scatter_long(std::byte* to, const std::byte* from, const std::int64_t* offsets, std::int64_t n,
                  std::int64_t block) noexcept {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(moved(to, offsets[i]), from + i * block, static_cast<std::size_t>(block));
}

void same_long(std::byte* to, const std::byte* from, const std::int64_t* offsets, std::int64_t n,
               std::int64_t block) noexcept {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(moved(to, offsets[i]), moved(from, offsets[i]), static_cast<std::size_t>(block));
}

template <std::size_t... kBlocks>
constexpr std::array<GridKernel, sizeof...(kBlocks)> grid_kernels(std::index_sequence<kBlocks...>) noexcept {
  return {copy_grid<static_cast<std::int64_t>(kBlocks) + 1>...};
}

template <std::size_t... kBlocks>
constexpr std::array<IndexedKernels, sizeof...(kBlocks)> indexed_table(
    std::index_sequence<kBlocks...>) noexcept {
  return {IndexedKernels{gather<static_cast<std::int64_t>(kBlocks) + 1>,
                         scatter<static_cast<std::int64_t>(kBlocks) + 1>,
                         same<static_cast<std::int64_t>(kBlocks) + 1>}...};
}

constexpr auto kGridKernels = grid_kernels(std::make_index_sequence<kTemplatedBytesMax>{});
constexpr auto kIndexedKernels = indexed_table(std::make_index_sequence<kTemplatedBytesMax>{});
constexpr IndexedKernels kIndexedLong{gather_long, scatter_long, same_long};

}  // namespace

GridKernel grid_kernel(std::int64_t block) noexcept {
  return block <= kTemplatedBytesMax ? kGridKernels[static_cast<std::size_t>(block - 1)] : copy_grid_long;
}

// Strides of half pages put all blocks of a column into one set of the first-level cache.  The fewer of them
// are then on their way at once, the better: a call of memcpy per block packs 1024 rows in 2.4 us, the
// kernels above in 3.8 (stride 8192, blocks of 8 to 32 bytes; one virtual CPU of an AMD EPYC 9005).  Writing
// has that effect below one page only: 1.4 us against 2.8 at 512 and 3.2 at 1024, but 8.3 against 7.5 from a
// page on.
GridKernel grid_kernel(std::int64_t block, std::int64_t to_stride, std::int64_t from_stride,
                       std::int64_t lines) noexcept {
  constexpr std::int64_t kReadSet = 2048, kWriteSet = 512, kPage = 4096;
  constexpr std::int64_t kLinesMin = 64, kLinesMax = 16384;  // a few tiles; more than the second level holds
  if (lines < kLinesMin || lines > kLinesMax) return grid_kernel(block);
  const bool is_to_dense = to_stride == block, is_from_dense = from_stride == block;
  const bool crowds_reads = is_to_dense && !is_from_dense && from_stride % kReadSet == 0;
  const bool is_near = to_stride < kPage && to_stride > -kPage;
  const bool crowds_writes = is_from_dense && !is_to_dense && to_stride % kWriteSet == 0 && is_near;
  return crowds_reads || crowds_writes ? copy_grid_long : grid_kernel(block);
}

const IndexedKernels& indexed_kernels(std::int64_t block) noexcept {
  return block <= kTemplatedBytesMax ? kIndexedKernels[static_cast<std::size_t>(block - 1)] : kIndexedLong;
}

void gather_blocks(std::byte* __restrict to, const std::byte* __restrict from, const Block* blocks,
                   std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    copy_run(to, moved(from, blocks[i].offset), blocks[i].bytes);
    to += blocks[i].bytes;
  }
}

void scatter_blocks(std::byte* __restrict to, const std::byte* __restrict from, const Block* blocks,
                    std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    copy_run(moved(to, blocks[i].offset), from, blocks[i].bytes);
    from += blocks[i].bytes;
  }
}

void copy_blocks(std::byte* __restrict to, const std::byte* __restrict from, const Block* blocks,
                 std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; ++i)
    copy_run(moved(to, blocks[i].offset), moved(from, blocks[i].offset), blocks[i].bytes);
}

}  // namespace dunlin::datatype
