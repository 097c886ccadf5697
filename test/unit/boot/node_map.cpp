// Maps of ranks to nodes: what Hydra and Slurm send, what must be refused, and lists.
#include "boot/node_map.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dunlin::boot {
namespace {

NodeMap map_of(int ranks, const char* mapping) {
  NodeMap map;
  EXPECT_TRUE(map.try_assign(mapping, ranks)) << mapping;
  return map;
}

std::vector<int> nodes_of(const NodeMap& map) {
  std::vector<int> nodes;
  for (int rank = 0; rank < map.ranks(); ++rank) nodes.push_back(map.node_of(rank));
  return nodes;
}

TEST(NodeMap, OneNode) {
  const NodeMap map(4);
  EXPECT_EQ(map.nodes(), 1);
  EXPECT_EQ(map.ranks_of(0), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(map.text(), "(vector,(0,1,4))");
  EXPECT_EQ(nodes_of(map_of(4, "(vector,(0,1,4))")), nodes_of(map));
}

TEST(NodeMap, BlocksOfTwoNodes) {
  const NodeMap map = map_of(5, "(vector,(0,2,3))");
  EXPECT_EQ(map.nodes(), 2);
  EXPECT_EQ(nodes_of(map), (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_EQ(map.ranks_of(1), (std::vector<int>{3, 4}));
}

TEST(NodeMap, PlacesAreIndicesOfTheRanksOfANode) {
  for (const char* mapping : {"(vector,(0,2,3))", "(vector,(0,3,2),(1,1,4))",
                              "(vector,(0,1,2),(1,2,1),(0,2,3))", "(vector,(0,1,99))"}) {
    const NodeMap map = map_of(40, mapping);
    for (int node = 0; node < map.nodes(); ++node) {
      const std::vector<int> ranks = map.ranks_of(node);
      for (std::size_t i = 0; i < ranks.size(); ++i) EXPECT_EQ(map.place_of(ranks[i]), int(i)) << mapping;
    }
  }
}

TEST(NodeMap, MoreBlocksThanRanks) {
  EXPECT_EQ(map_of(3, "(vector,(0,2,3))").nodes(), 1);
  EXPECT_EQ(map_of(3, "(vector,(0,1,2),(1,9,1),(10,2000000000,2000000000))").nodes(), 2);
}

TEST(NodeMap, CyclicIsRepeated) {
  const NodeMap map = map_of(7, "(vector,(0,3,1))");
  EXPECT_EQ(map.nodes(), 3);
  EXPECT_EQ(map.ranks_of(2), (std::vector<int>{2, 5}));
  EXPECT_EQ(map.first_ranks(), (std::vector<int>{0, 1, 2}));
}

TEST(NodeMap, UnequalBlocks) {
  const NodeMap map = map_of(6, "(vector,(0,1,4),(1,2,1))");
  EXPECT_EQ(map.nodes(), 3);
  EXPECT_EQ(nodes_of(map), (std::vector<int>{0, 0, 0, 0, 1, 2}));
}

TEST(NodeMap, RefusesWhatIsNoMapping) {
  for (const char* bad : {"", "(vector", "(vector)", "(vector,(0,1))", "(vector,(0,0,4))", "(vector,(0,1,0))",
                          "(vector,(0,1,-2))", "(matrix,(0,1,4))", "(vector,(0,1,4)) ", "(vector,(1,1,4))",
                          "(vector,(0,1,1),(2,1,3))"}) {
    NodeMap map(3);
    EXPECT_FALSE(map.try_assign(bad, 4)) << bad;
    EXPECT_EQ(map.ranks(), 3);
  }
}

TEST(NodeMap, ListsAreNumberedByFirstRank) {
  const NodeMap map(std::vector<int>{7, 7, 3, 7, 3, 12});
  EXPECT_EQ(nodes_of(map), (std::vector<int>{0, 0, 1, 0, 1, 2}));
  EXPECT_EQ(map.ranks_of(0), (std::vector<int>{0, 1, 3}));
}

/// A list, its text, and the map that the text gives are the same.
TEST(NodeMap, ListAndTextAgree) {
  std::mt19937 dice(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> list(1 + dice() % 40);
    for (int& node : list) node = int(dice() % 5);
    const NodeMap map(list);
    EXPECT_EQ(nodes_of(map_of(int(list.size()), map.text().c_str())), nodes_of(map)) << map.text();
    int ranks = 0;
    for (int node = 0; node < map.nodes(); ++node)
      for (const int rank : map.ranks_of(node)) ranks += map.node_of(rank) == node;
    EXPECT_EQ(ranks, map.ranks());
  }
}

TEST(NodeMap, TenThousandEqualNodesAreOneBlock) {
  std::vector<int> list;
  for (int rank = 0; rank < 1280000; ++rank) list.push_back(rank / 128);
  const NodeMap map(list);
  EXPECT_EQ(map.text(), "(vector,(0,10000,128))");
  EXPECT_EQ(map.node_of(1279999), 9999);
}

}  // namespace
}  // namespace dunlin::boot
