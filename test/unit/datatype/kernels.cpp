// Kernels for rows of blocks (datatype/kernels.hpp), also those chosen by the distance of blocks.
#include "datatype/kernels.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using dunlin::datatype::Grid;
using dunlin::datatype::grid_kernel;

struct Side {
  std::vector<std::byte> memory;
  std::int64_t stride;

  Side(std::int64_t block, std::int64_t distance, std::int64_t n)
      : memory(static_cast<std::size_t>(std::abs(distance) * (n - 1) + block)), stride(distance) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7 + i / 251 + 1);
  }
  std::byte* at(std::int64_t i, std::int64_t n) {
    return memory.data() + (stride < 0 ? i - n + 1 : i) * stride;
  }
};

void expect_copied(std::int64_t block, std::int64_t to_stride, std::int64_t from_stride, std::int64_t n) {
  Side to(block, to_stride, n), from(block, from_stride, n);
  Side expected = to;
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(expected.at(i, n), from.at(i, n), static_cast<std::size_t>(block));
  grid_kernel(block, to_stride, from_stride, n)(to.at(0, n), Grid{{to_stride, 0}}, from.at(0, n),
                                                Grid{{from_stride, 0}}, n, 1, block);
  EXPECT_EQ(to.memory, expected.memory)
      << n << " blocks of " << block << " bytes from stride " << from_stride << " to " << to_stride;
}

TEST(Kernels, ColumnsMoveTheSameBytes) {
  for (const std::int64_t block : {1, 3, 8, 24, 64, 65})
    for (const std::int64_t stride : {96, 1024, 4096 + 64, -8192})
      for (const std::int64_t n : {1, 2, 3, 4, 5, 300}) {
        expect_copied(block, block, stride, n);   // pack
        expect_copied(block, stride, block, n);   // unpack
        expect_copied(block, stride, stride, n);  // direct
      }
}

TEST(Kernels, PrefetchedColumnsMoveTheSameBytes) {
  constexpr std::int64_t kLineBytes = 64, kUnknown = 1 << 20;
  const std::int64_t cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
  const std::int64_t many = (cache > 0 ? cache : kUnknown) / kLineBytes + 1;
  EXPECT_NE(grid_kernel(8, 8, 1040, many), grid_kernel(8));
  EXPECT_EQ(grid_kernel(8, 8, 1000, many), grid_kernel(8));
  EXPECT_EQ(grid_kernel(8, 8, 1040, many - 1), grid_kernel(8));
  expect_copied(8, 8, 1040, many);
  expect_copied(8, -1040, 8, many);
  expect_copied(24, 1024, 1040, many);
}

}  // namespace
