// PMI process mappings: what Hydra and Slurm send, and what must be refused.
#include "boot/process_mapping.hpp"

#include <gtest/gtest.h>

namespace dunlin::boot {
namespace {

Place place_of(int rank, int size, const char* mapping) {
  Place place;
  place.rank = rank;
  place.size = size;
  EXPECT_TRUE(try_apply_mapping(mapping, place)) << mapping;
  return place;
}

TEST(ProcessMapping, OneNode) {
  const Place place = place_of(2, 4, mapping_of_one_node(4).c_str());
  EXPECT_EQ(place.nodes, 1);
  EXPECT_EQ(place.node_rank, 2);
  EXPECT_EQ(place.node_peers, (std::vector<int>{0, 1, 2, 3}));
}

TEST(ProcessMapping, BlocksOfTwoNodes) {
  const Place place = place_of(3, 5, "(vector,(0,2,3))");
  EXPECT_EQ(place.nodes, 2);
  EXPECT_EQ(place.node, 1);
  EXPECT_EQ(place.node_rank, 0);
  EXPECT_EQ(place.node_peers, (std::vector<int>{3, 4}));
}

TEST(ProcessMapping, CyclicIsRepeated) {
  const Place place = place_of(5, 7, "(vector,(0,3,1))");
  EXPECT_EQ(place.nodes, 3);
  EXPECT_EQ(place.node, 2);
  EXPECT_EQ(place.node_rank, 1);
  EXPECT_EQ(place.node_peers, (std::vector<int>{2, 5}));
}

TEST(ProcessMapping, UnequalBlocks) {
  const Place place = place_of(5, 6, "(vector,(0,1,4),(1,2,1))");
  EXPECT_EQ(place.nodes, 3);
  EXPECT_EQ(place.node, 2);
  EXPECT_EQ(place.node_peers, (std::vector<int>{5}));
}

TEST(ProcessMapping, RefusesWhatIsNoMapping) {
  for (const char* bad : {"", "(vector", "(vector)", "(vector,(0,1))", "(vector,(0,0,4))", "(vector,(0,1,0))",
                          "(vector,(0,1,-2))", "(matrix,(0,1,4))", "(vector,(0,1,4)) "}) {
    Place place;
    EXPECT_FALSE(try_apply_mapping(bad, place)) << bad;
  }
}

}  // namespace
}  // namespace dunlin::boot
