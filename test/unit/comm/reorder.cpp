// New ranks of Cartesian topologies: every domain gets a block of the grid.
#include "comm/reorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace dunlin::comm {
namespace {

std::vector<coll::MemberPlace> on(const std::vector<int>& nodes) {
  std::vector<coll::MemberPlace> places;
  for (const int node : nodes) places.push_back({node});
  return places;
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
    const std::vector<int> ranks = ranks_of_grid(on(nodes), {8, 8});
    EXPECT_EQ(std::set<int>(ranks.begin(), ranks.end()).size(), 64u);
    EXPECT_EQ(cut(ranks, nodes, 8, 8), 16);  // in slabs of two rows: 24
  }
}

TEST(Reorder, CachesGetSquaresOfTheSquaresOfNodes) {
  std::vector<coll::MemberPlace> places;
  std::vector<int> nodes, caches;
  for (int rank = 0; rank < 64; ++rank) {
    places.push_back({rank / 16, rank / 8, rank / 4});
    nodes.push_back(rank / 16);
    caches.push_back(rank / 4);
  }
  const std::vector<int> ranks = ranks_of_grid(places, {8, 8});
  EXPECT_EQ(std::set<int>(ranks.begin(), ranks.end()).size(), 64u);
  EXPECT_EQ(cut(ranks, nodes, 8, 8), 16);
  EXPECT_EQ(cut(ranks, caches, 8, 8), 48);  // by nodes only: 64
}

TEST(Reorder, WhatDoesNotFitStays) {
  EXPECT_EQ(ranks_of_grid(on({0, 0, 0, 1}), {2, 2}), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(ranks_of_grid(on({0, 1, 0, 1, 0, 1}), {2, 3}), (std::vector<int>{0, 2, 4, 1, 3, 5}));
}

}  // namespace
}  // namespace dunlin::comm
