// Domains of communicators: any placement, any number of ranks on a node.
#include "coll/hierarchy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace dunlin::coll {
namespace {

std::vector<int> list(std::span<const int> members) { return {members.begin(), members.end()}; }

TEST(Hierarchy, NodesInBlocks) {
  const Hierarchy hierarchy({7, 7, 7, 2, 2}, 32);
  ASSERT_EQ(hierarchy.domains(), 2);
  EXPECT_EQ(list(hierarchy.members(0)), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(list(hierarchy.members(1)), (std::vector<int>{3, 4}));
  EXPECT_TRUE(hierarchy.is_in_order());
  EXPECT_EQ(hierarchy.leaders_max(), 2);
  EXPECT_EQ(hierarchy.place_of(4), 1);
}

TEST(Hierarchy, NodesInTurn) {
  const Hierarchy hierarchy({0, 1, 0, 1, 0}, 32);
  ASSERT_EQ(hierarchy.domains(), 2);
  EXPECT_EQ(list(hierarchy.members(0)), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(hierarchy.domain_of(3), 1);
  EXPECT_FALSE(hierarchy.is_in_order());
}

TEST(Hierarchy, ALargeNodeIsCutIntoEqualDomains) {
  const Hierarchy hierarchy(std::vector<int>(70, 0), 32);
  ASSERT_EQ(hierarchy.domains(), 3);
  for (int domain = 0; domain < 3; ++domain)
    EXPECT_NEAR(double(hierarchy.members(domain).size()), 70 / 3.0, 1);
  EXPECT_TRUE(hierarchy.is_in_order());
  EXPECT_EQ(hierarchy.leaders_max(), 23);
}

TEST(Hierarchy, EveryMemberIsWhereItsDomainSays) {
  std::vector<int> nodes(4096);
  for (std::size_t member = 0; member < nodes.size(); ++member) nodes[member] = int(member * member % 61);
  const Hierarchy hierarchy(nodes, 32);
  std::vector<int> order = list(hierarchy.order());
  for (int member = 0; member < 4096; ++member) {
    const auto members = hierarchy.members(hierarchy.domain_of(member));
    ASSERT_LE(members.size(), 32u);
    ASSERT_EQ(members[std::size_t(hierarchy.place_of(member))], member);
    ASSERT_EQ(nodes[std::size_t(members[0])], nodes[std::size_t(member)]);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> all(4096);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

}  // namespace
}  // namespace dunlin::coll
