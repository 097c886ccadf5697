// Kernels that are chosen by the distance of blocks (datatype/kernels.hpp): columns whose blocks share few
// sets of the cache move at a pace of their own and must still move the same bytes.
#include "datatype/kernels.hpp"

#include <gtest/gtest.h>

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

TEST(Kernels, PacedColumnsMoveTheSameBytes) {
  for (const std::int64_t block : {1, 3, 8, 24, 64, 65})
    for (const std::int64_t stride : {512, 1024, 2048, 4096, 4096 + 64, -8192})
      for (const std::int64_t n : {1, 63, 64, 300}) {
        expect_copied(block, block, stride, n);   // pack
        expect_copied(block, stride, block, n);   // unpack
        expect_copied(block, stride, stride, n);  // direct
      }
}

TEST(Kernels, PrefetchedColumnsMoveTheSameBytes) {
  constexpr std::int64_t kMany = 16385;
  EXPECT_NE(grid_kernel(8, 8, 1040, kMany), grid_kernel(8));
  EXPECT_EQ(grid_kernel(8, 8, 1000, kMany), grid_kernel(8));
  expect_copied(8, 8, 1040, kMany);
  expect_copied(8, -1040, 8, kMany);
  expect_copied(24, 1024, 1040, kMany);
}

TEST(Kernels, OnlyCrowdedColumnsArePaced) {
  const auto is_paced = [](std::int64_t to_stride, std::int64_t from_stride, std::int64_t n) {
    return grid_kernel(8, to_stride, from_stride, n) != grid_kernel(8);
  };
  EXPECT_TRUE(is_paced(8, 8192, 64));
  EXPECT_TRUE(is_paced(8192, 8, 64));
  EXPECT_TRUE(is_paced(-8192, 8, 64));
  EXPECT_TRUE(is_paced(1024, 8, 256));
  EXPECT_FALSE(is_paced(8, 8192, 63));
  EXPECT_TRUE(is_paced(8, 1024, 4096));
  EXPECT_FALSE(is_paced(8, 512, 4096));  // eight sets are enough
  EXPECT_FALSE(is_paced(8, 8, 4096));
  EXPECT_FALSE(is_paced(8 * 1025, 8, 1024));
}

}  // namespace
