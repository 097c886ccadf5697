// The kernels by block size (kernels.hpp).
#include "datatype/kernels.hpp"

#include <unistd.h>

#include <algorithm>
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
      copy_block(to + i * to_grid.stride[0], from + i * from_grid.stride[0], static_cast<std::size_t>(block));
    to += to_grid.stride[1];
    from += from_grid.stride[1];
  }
}

// The processor's own prefetcher does not follow blocks that lie in pages of their own or nearly so.  Once
// they are more than the second-level cache has lines, fetching them early pays: the face of a 256^3 array of
// doubles across its rows (65536 blocks, stride 2048), us, without and with prefetch: packed 415 and 305,
// unpacked 380 and 355 (one VCPU of an AMD EPYC 9005), 997 and 1032, 1583 and 1128 (one of an Intel Sapphire
// Rapids).  Fewer blocks or shorter strides lose by it.  16 blocks ahead gain half of that, 32 most
// of it, 256 no more.
constexpr std::int64_t kBlocksAhead = 64, kFarStride = 1024, kLineBytes = 64;

std::int64_t second_level_lines() noexcept {
  constexpr std::int64_t kUnknown = 1 << 20;  // bytes, where the C library cannot tell
  const std::int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return (bytes > 0 ? bytes : kUnknown) / kLineBytes;
}

bool is_far(std::int64_t to_stride, std::int64_t from_stride, std::int64_t n) noexcept {
  static const std::int64_t lines = second_level_lines();
  const auto is_long = [](std::int64_t stride) { return stride >= kFarStride || stride <= -kFarStride; };
  return n > lines && (is_long(to_stride) || is_long(from_stride));
}

template <std::int64_t kBlock>
void copy_grid_far(std::byte* to, Grid to_grid, const std::byte* from, Grid from_grid, std::int64_t columns,
                   std::int64_t rows, std::int64_t) noexcept {
  constexpr int kSecondLevel = 2;  // prefetches into the first level would stay too few
  for (std::int64_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::int64_t ahead = std::min(i + kBlocksAhead, columns - 1);
      __builtin_prefetch(from + ahead * from_grid.stride[0], 0, kSecondLevel);
      __builtin_prefetch(to + ahead * to_grid.stride[0], 0, kSecondLevel);
      std::memcpy(to + i * to_grid.stride[0], from + i * from_grid.stride[0], kBlock);
    }
    to += to_grid.stride[1];
    from += from_grid.stride[1];
  }
}

// Four at a time, too: unpacking a list of 4-byte blocks takes half as long.
template <std::int64_t kBlock>
void gather(std::byte* __restrict to, const std::byte* __restrict from, const std::int32_t* offsets,
            std::int64_t n, std::int64_t) noexcept {
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * kBlock, moved(from, offsets[i]), kBlock);
}

template <std::int64_t kBlock>
void scatter(std::byte* __restrict to, const std::byte* __restrict from, const std::int32_t* offsets,
             std::int64_t n, std::int64_t) noexcept {
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(moved(to, offsets[i]), from + i * kBlock, kBlock);
}

template <std::int64_t kBlock>
void same(std::byte* __restrict to, const std::byte* __restrict from, const std::int32_t* offsets,
          std::int64_t n, std::int64_t) noexcept {
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(moved(to, offsets[i]), moved(from, offsets[i]), kBlock);
}

void gather_long(std::byte* to, const std::byte* from, const std::int32_t* offsets, std::int64_t n,
                 std::int64_t block) noexcept {
  for (std::int64_t i = 0; i < n; ++i)
    copy_block(to + i * block, moved(from, offsets[i]), static_cast<std::size_t>(block));
}

void scatter_long(std::byte* to, const std::byte* from, const std::int32_t* offsets, std::int64_t n,
                  std::int64_t block) noexcept {
  for (std::int64_t i = 0; i < n; ++i)
    copy_block(moved(to, offsets[i]), from + i * block, static_cast<std::size_t>(block));
}

void same_long(std::byte* to, const std::byte* from, const std::int32_t* offsets, std::int64_t n,
               std::int64_t block) noexcept {
  for (std::int64_t i = 0; i < n; ++i)
    copy_block(moved(to, offsets[i]), moved(from, offsets[i]), static_cast<std::size_t>(block));
}

template <std::size_t... kBlocks>
constexpr std::array<GridKernel, sizeof...(kBlocks)> grid_kernels(std::index_sequence<kBlocks...>) noexcept {
  return {copy_grid<static_cast<std::int64_t>(kBlocks) + 1>...};
}

template <std::size_t... kBlocks>
constexpr std::array<GridKernel, sizeof...(kBlocks)> far_kernels(std::index_sequence<kBlocks...>) noexcept {
  return {copy_grid_far<static_cast<std::int64_t>(kBlocks) + 1>...};
}

template <std::size_t... kBlocks>
constexpr std::array<IndexedKernels, sizeof...(kBlocks)> indexed_table(
    std::index_sequence<kBlocks...>) noexcept {
  return {IndexedKernels{gather<static_cast<std::int64_t>(kBlocks) + 1>,
                         scatter<static_cast<std::int64_t>(kBlocks) + 1>,
                         same<static_cast<std::int64_t>(kBlocks) + 1>}...};
}

constexpr auto kGridKernels = grid_kernels(std::make_index_sequence<kTemplatedBytesMax>{});
constexpr auto kFarKernels = far_kernels(std::make_index_sequence<kTemplatedBytesMax>{});
constexpr auto kIndexedKernels = indexed_table(std::make_index_sequence<kTemplatedBytesMax>{});
constexpr IndexedKernels kIndexedLong{gather_long, scatter_long, same_long};

}  // namespace

GridKernel grid_kernel(std::int64_t block) noexcept {
  return block <= kTemplatedBytesMax ? kGridKernels[static_cast<std::size_t>(block - 1)] : copy_grid_long;
}

GridKernel grid_kernel(std::int64_t block, std::int64_t to_stride, std::int64_t from_stride,
                       std::int64_t n) noexcept {
  const bool is_prefetched = block <= kTemplatedBytesMax && is_far(to_stride, from_stride, n);
  return is_prefetched ? kFarKernels[static_cast<std::size_t>(block - 1)] : grid_kernel(block);
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
