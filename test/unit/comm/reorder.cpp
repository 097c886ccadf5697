// New ranks of Cartesian topologies: every domain gets a block of the grid.
#include "comm/reorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "coll/hierarchy.hpp"

namespace dunlin::comm {
namespace {

Ref<Comm> comm_on(const std::vector<int>& nodes) {
  auto made = Ref<Comm>::adopt(new Comm);
  made->size = int(nodes.size());
  made->hierarchy = std::make_shared<const coll::Hierarchy>(nodes, 32);
  return made;
}

/// Pairs of neighbors along both dimensions that lie on different nodes.
int cut(const std::vector<int>& ranks, const std::vector<int>& nodes, int rows, int columns) {
  const auto node = [&](int row, int column) {
    return nodes[std::size_t(ranks[std::size_t(row * columns + column)])];
  };
  int pairs = 0;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      pairs += row + 1 < rows && node(row, column) != node(row + 1, column);
      pairs += column + 1 < columns && node(row, column) != node(row, column + 1);
    }
  return pairs;
}

TEST(Reorder, ASquareGridIsCutIntoSquares) {
  for (const bool is_in_turn : {false, true}) {
    std::vector<int> nodes;
    for (int rank = 0; rank < 64; ++rank) nodes.push_back(is_in_turn ? rank % 4 : rank / 16);
    const Ref<Comm> comm = comm_on(nodes);
    const std::vector<int> ranks = ranks_of_grid(*comm, {8, 8}, 64);
    EXPECT_EQ(std::set<int>(ranks.begin(), ranks.end()).size(), 64u);
    EXPECT_EQ(cut(ranks, nodes, 8, 8), 16);  // in slabs of two rows: 24
  }
}

TEST(Reorder, WhatDoesNotFitStays) {
  const Ref<Comm> unequal = comm_on({0, 0, 0, 1});
  EXPECT_EQ(ranks_of_grid(*unequal, {2, 2}, 4), (std::vector<int>{0, 1, 2, 3}));
  const Ref<Comm> equal = comm_on({0, 1, 0, 1, 0, 1});
  EXPECT_EQ(ranks_of_grid(*equal, {5}, 5), (std::vector<int>{0, 1, 2, 3, 4}));  // one is left out
  EXPECT_EQ(ranks_of_grid(*equal, {2, 3}, 6), (std::vector<int>{0, 2, 4, 1, 3, 5}));
}

}  // namespace
}  // namespace dunlin::comm
