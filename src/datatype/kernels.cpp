// The kernels by block size (kernels.hpp).
#include "datatype/kernels.hpp"

#include <array>
#include <utility>

namespace dunlin::datatype {

namespace {

// Blocks of up to this many bytes have a kernel of their own; above, a call of memcpy is cheap beside the
// copy itself.
constexpr std::int64_t kTemplatedBytesMax = 64;
// Loading several blocks before storing any keeps loads from waiting for stores at the same page offset (4
// KiB aliasing), which costs up to a factor of two where both sides have one stride.
constexpr std::int64_t kBatch = 8;

template <std::int64_t kBlock>
struct Value {
  std::byte bytes[kBlock];
};

template <std::int64_t kBlock>
void copy_row(std::byte* __restrict to, std::int64_t to_stride, const std::byte* __restrict from,
              std::int64_t from_stride, std::int64_t n) noexcept {
  std::int64_t i = 0;
  if constexpr (kBlock <= 16) {
    for (; i + kBatch <= n; i += kBatch) {
      Value<kBlock> batch[kBatch];
#pragma GCC unroll 8
      for (std::int64_t j = 0; j < kBatch; ++j) std::memcpy(&batch[j], from + j * from_stride, kBlock);
#pragma GCC unroll 8
      for (std::int64_t j = 0; j < kBatch; ++j) std::memcpy(to + j * to_stride, &batch[j], kBlock);
      from += kBatch * from_stride;
      to += kBatch * to_stride;
    }
  }
  for (; i < n; ++i, from += from_stride, to += to_stride) std::memcpy(to, from, kBlock);
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
