// The kernels by block size (kernels.hpp).
#include "datatype/kernels.hpp"

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
      std::memcpy(to + i * to_grid.stride[0], from + i * from_grid.stride[0],
                  static_cast<std::size_t>(block));
    to += to_grid.stride[1];
    from += from_grid.stride[1];
  }
}

// Columns whose blocks fall into few sets of the first-level cache, as strides of whole KiB make them,
// move at a set pace.  A core that runs ahead asks for more lines of a set than it has ways; they push each
// other out, and those that were written have to be carried down each time.  Every beat is an addition that
// the next block waits for, one cycle on all current processors.  Measured on one VCPU of an AMD EPYC 9005,
// ns for a block of 8 bytes, 1024 blocks, at full speed and paced:
//   stride       1024         2048         8192
//   written    3.6  1.3     5.7  1.8     7.8  3.4
//   read       1.0  0.9     1.6  1.4     4.0  2.1
//   both       5.6  2.9     6.6  3.7    11.6  6.1
// Two beats more or fewer cost a tenth when reading; when writing, two fewer cost up to the double.
// Bounding how many blocks are under way instead, by making a block wait for the one 4 to 16 before it, or
// prefetching 4 to 64 blocks ahead, gained nothing.  The loss begins at about 64 blocks a set; from
// kPacedBlocksMax on the lines lie in no near cache.
constexpr std::int64_t kPacedBlocksPerSet = 64, kPacedBlocksMax = 16384;

[[gnu::noinline]] std::int64_t beats(std::int64_t block, std::int64_t to_stride, std::int64_t from_stride,
                                     std::int64_t n) noexcept {
  constexpr std::int64_t kSetBytes = 4096;  // distance of lines in one set: 64 sets of 64-byte lines
  struct Beats {
    std::int64_t one_set, two_sets, four_sets;
  };
  const auto of = [=](std::int64_t stride, Beats beats) noexcept {
    const std::int64_t step = std::min(stride & -stride, kSetBytes);  // between the sets in use
    const bool is_crowded = stride != block && n * step >= kPacedBlocksPerSet * kSetBytes;
    if (!is_crowded || step < kSetBytes / 4) return std::int64_t{0};
    return step == kSetBytes ? beats.one_set : step == kSetBytes / 2 ? beats.two_sets : beats.four_sets;
  };
  return n > kPacedBlocksMax ? 0 : of(to_stride, {13, 6, 4}) + of(from_stride, {7, 2, 2});
}

template <std::int64_t kBlock>
void copy_grid_paced(std::byte* to, Grid to_grid, const std::byte* from, Grid from_grid, std::int64_t columns,
                     std::int64_t rows, std::int64_t) noexcept {
  const std::int64_t wait = beats(kBlock, to_grid.stride[0], from_grid.stride[0], columns * rows);
  std::int64_t nothing = 0;
  __asm__("" : "+r"(nothing));  // the compiler must not know
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      std::memcpy(to + i * to_grid.stride[0], from + i * from_grid.stride[0], kBlock);
      for (std::int64_t beat = 0; beat < wait; ++beat) {
        i += nothing;
        __asm__("" : "+r"(i));  // nor make one addition of all
      }
    }
    to += to_grid.stride[1];
    from += from_grid.stride[1];
  }
}

// More blocks than the second-level cache has lines, each in a page of its own or nearly so, which the
// processor's own prefetcher does not follow.  The face of a 256^3 array of doubles across its rows (65536
// blocks, stride 2048), us, without and with prefetch: packed 415 and 305, unpacked 380 and 355; 16 blocks
// ahead gain half of that, 32 most of it, 256 no more (one VCPU of an AMD EPYC 9005).
constexpr std::int64_t kBlocksAhead = 64, kFarStride = 1024;

bool is_far(std::int64_t to_stride, std::int64_t from_stride, std::int64_t n) noexcept {
  const auto is_long = [](std::int64_t stride) { return stride >= kFarStride || stride <= -kFarStride; };
  return n > kPacedBlocksMax && (is_long(to_stride) || is_long(from_stride));
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
constexpr std::array<GridKernel, sizeof...(kBlocks)> paced_kernels(std::index_sequence<kBlocks...>) noexcept {
  return {copy_grid_paced<static_cast<std::int64_t>(kBlocks) + 1>...};
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
constexpr auto kPacedKernels = paced_kernels(std::make_index_sequence<kTemplatedBytesMax>{});
constexpr auto kFarKernels = far_kernels(std::make_index_sequence<kTemplatedBytesMax>{});
constexpr auto kIndexedKernels = indexed_table(std::make_index_sequence<kTemplatedBytesMax>{});
constexpr IndexedKernels kIndexedLong{gather_long, scatter_long, same_long};

}  // namespace

GridKernel grid_kernel(std::int64_t block) noexcept {
  return block <= kTemplatedBytesMax ? kGridKernels[static_cast<std::size_t>(block - 1)] : copy_grid_long;
}

GridKernel grid_kernel(std::int64_t block, std::int64_t to_stride, std::int64_t from_stride,
                       std::int64_t lines) noexcept {
  if (block > kTemplatedBytesMax) return copy_grid_long;
  const auto which = static_cast<std::size_t>(block - 1);
  if (is_far(to_stride, from_stride, lines)) return kFarKernels[which];
  return beats(block, to_stride, from_stride, lines) > 0 ? kPacedKernels[which] : kGridKernels[which];
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
