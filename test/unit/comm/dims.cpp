// comm/dims.cpp: against a reference that tries everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "comm/functions.hpp"

namespace dunlin::comm {
namespace {

using Dims = std::vector<int>;

Dims create(int nodes, Dims dims) {
  if (dims_create(nodes, int(dims.size()), dims.data()) != Err::ok) return {-1};
  return dims;
}

/// All falling factorizations in lexical order.
std::vector<Dims> factorizations(int n, int factors, int largest) {
  if (factors == 0) return n == 1 ? std::vector<Dims>{{}} : std::vector<Dims>{};
  std::vector<Dims> all;
  for (int first = 1; first <= n && first <= largest; ++first) {
    if (n % first != 0) continue;
    for (Dims rest : factorizations(n / first, factors - 1, first)) {
      rest.insert(rest.begin(), first);
      all.push_back(rest);
    }
  }
  return all;
}

/// The first with the smallest difference of its largest and smallest factor.
Dims reference(int n, int factors) {
  const std::vector<Dims> all = factorizations(n, factors, n);
  const auto difference = [](const Dims& dims) { return dims.front() - dims.back(); };
  return *std::min_element(all.begin(), all.end(),
                           [&](const Dims& a, const Dims& b) { return difference(a) < difference(b); });
}

TEST(DimsCreate, ExamplesOfTheStandard) {
  EXPECT_EQ(create(6, {0, 0}), (Dims{3, 2}));
  EXPECT_EQ(create(7, {0, 0}), (Dims{7, 1}));
  EXPECT_EQ(create(6, {0, 3, 0}), (Dims{2, 3, 1}));
  EXPECT_EQ(create(7, {0, 3, 0}), (Dims{-1}));
}

TEST(DimsCreate, IsAsBalancedAsCanBe) {
  for (int dimensions = 1; dimensions <= 4; ++dimensions)
    for (int n = 1; n <= 400; ++n)
      EXPECT_EQ(create(n, Dims(std::size_t(dimensions))), reference(n, dimensions))
          << n << " in " << dimensions;
}

TEST(DimsCreate, IsClosestWhereTheSmallestFirstFactorIsNot) {
  EXPECT_EQ(create(34425, {0, 0, 0}), (Dims{51, 27, 25}));  // not 45 x 45 x 17
}

TEST(DimsCreate, LargeNumbersAndManyDimensions) {
  EXPECT_EQ(create(2147483647, {0, 0}), (Dims{2147483647, 1}));  // a prime
  EXPECT_EQ(create(1 << 30, {0, 0, 0}), (Dims{1024, 1024, 1024}));
  EXPECT_EQ(create(1 << 20, Dims(20)), Dims(20, 2));
  EXPECT_EQ(create(2095133040, {0, 0})[0] * create(2095133040, {0, 0})[1], 2095133040);  // 1600 divisors
  for (const int dimensions : {3, 4, 5, 7, 10, 31, 100000}) {
    const Dims dims = create(2095133040, Dims(std::size_t(dimensions)));
    EXPECT_EQ(std::accumulate(dims.begin(), dims.end(), 1L, std::multiplies<>()), 2095133040);
  }
  EXPECT_EQ(create(1, {0, 0, 0}), (Dims{1, 1, 1}));
}

TEST(DimsCreate, GivenDimensionsStay) {
  EXPECT_EQ(create(24, {0, 4, 0}), (Dims{3, 4, 2}));
  EXPECT_EQ(create(24, {2, 3, 4}), (Dims{2, 3, 4}));
  EXPECT_EQ(create(24, {2, 3, 3}), (Dims{-1}));
  EXPECT_EQ(create(24, {-1, 0}), (Dims{-1}));
  EXPECT_EQ(create(0, {0}), (Dims{-1}));
  EXPECT_EQ(create(24, {2147483647, 2147483647}), (Dims{-1}));
}

}  // namespace
}  // namespace dunlin::comm
