// New ranks of process topologies: every domain gets a block of the grid, or a part of the graph.
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

/// A ring of the vertices 0, step, 2 step ...
std::vector<Edge> ring(int vertices, int step) {
  std::vector<Edge> edges;
  for (int i = 0; i < vertices; ++i) edges.push_back({i * step % vertices, (i + 1) * step % vertices, 1});
  return edges;
}

std::vector<Edge> grid(int rows, int columns) {
  std::vector<Edge> edges;
  for (int vertex = 0; vertex < rows * columns; ++vertex) {
    if (vertex % columns + 1 < columns) edges.push_back({vertex, vertex + 1, 1});
    if (vertex / columns + 1 < rows) edges.push_back({vertex, vertex + columns, 1});
  }
  return edges;
}

/// Edges whose ends lie in different groups.
int cut(const std::vector<int>& ranks, const std::vector<Edge>& edges, const std::vector<int>& groups) {
  EXPECT_EQ(std::set<int>(ranks.begin(), ranks.end()).size(), groups.size());
  const auto group = [&](int vertex) { return groups[std::size_t(ranks[std::size_t(vertex)])]; };
  return int(std::count_if(edges.begin(), edges.end(),
                           [&](const Edge& edge) { return group(edge.from) != group(edge.to); }));
}

TEST(Reorder, ARingIsCutOnceForEachNode) {
  for (const int step : {1, 3, 7}) {
    std::vector<int> in_turn, of_different_sizes;
    for (int rank = 0; rank < 16; ++rank) {
      in_turn.push_back(rank % 4);
      of_different_sizes.push_back(rank < 3 ? 0 : rank < 8 ? 1 : 2);
    }
    EXPECT_EQ(cut(ranks_of_graph(on(in_turn), ring(16, step)), ring(16, step), in_turn), 4);
    EXPECT_EQ(cut(ranks_of_graph(on(of_different_sizes), ring(16, step)), ring(16, step), of_different_sizes),
              3);
  }
}

TEST(Reorder, PartsOfAGraphThatIsAGridAreSquares) {
  std::vector<coll::MemberPlace> places;
  std::vector<int> nodes, caches;
  for (int rank = 0; rank < 64; ++rank) {
    places.push_back({rank % 4, rank / 4 % 2, rank / 4 % 4});
    nodes.push_back(rank % 4);
    caches.push_back(rank % 16);
  }
  const std::vector<int> ranks = ranks_of_graph(places, grid(8, 8));
  EXPECT_EQ(cut(ranks, grid(8, 8), nodes), 16);
  EXPECT_EQ(cut(ranks, grid(8, 8), caches), 48);
}

TEST(Reorder, HeavyEdgesStayInside) {
  std::vector<Edge> edges = ring(8, 1);
  for (int i = 0; i < 4; ++i) edges.push_back({i, i + 4, 100});
  const std::vector<int> nodes{0, 0, 0, 0, 1, 1, 1, 1};
  const std::vector<int> ranks = ranks_of_graph(on(nodes), edges);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(nodes[std::size_t(ranks[std::size_t(i)])], nodes[std::size_t(ranks[std::size_t(i + 4)])]) << i;
}

TEST(Reorder, AGraphThatGainsNothingKeepsItsOrder) {
  std::vector<int> same(8);
  for (int i = 0; i < 8; ++i) same[std::size_t(i)] = i;
  EXPECT_EQ(ranks_of_graph(on({0, 0, 0, 0, 1, 1, 1, 1}), ring(8, 1)), same);
  EXPECT_EQ(ranks_of_graph(on({0, 0, 1, 1, 1, 1, 0, 0}), ring(8, 1)), same);
  EXPECT_EQ(ranks_of_graph(on({1, 0, 1, 0, 1, 0, 1, 0}), std::vector<Edge>{}), same);
  EXPECT_EQ(ranks_of_graph(on({1, 0, 1, 0, 1, 0, 1, 0}), std::vector<Edge>{{3, 3, 5}}), same);
  EXPECT_FALSE(is_order_of_use(on({0, 0, 0, 0})));
  EXPECT_FALSE(is_order_of_use(on({3, 2, 1, 0})));
  EXPECT_TRUE(is_order_of_use(on({3, 2, 1, 1})));
}

}  // namespace
}  // namespace dunlin::comm
