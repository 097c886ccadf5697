// Domains of communicators: any placement, any number of ranks on a node.
#include "coll/hierarchy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace dunlin::coll {
namespace {

/// Of members whose machines tell no caches.
std::vector<MemberPlace> on(const std::vector<int>& nodes) {
  std::vector<MemberPlace> places;
  for (const int node : nodes) places.push_back({node});
  return places;
}

/// One node; so many ranks in a row on each memory node, and behind each cache.
std::vector<MemberPlace> in_rows(int ranks, int memory, int cache) {
  std::vector<MemberPlace> places;
  for (int rank = 0; rank < ranks; ++rank) places.push_back({0, rank / memory, rank / cache});
  return places;
}

std::vector<std::size_t> sizes(const Hierarchy& hierarchy) {
  std::vector<std::size_t> sizes;
  for (int domain = 0; domain < hierarchy.domains(); ++domain)
    sizes.push_back(hierarchy.members(domain).size());
  return sizes;
}

std::vector<int> list(std::span<const int> members) { return {members.begin(), members.end()}; }

TEST(Hierarchy, NodesInBlocks) {
  const Hierarchy hierarchy(on({7, 7, 7, 2, 2}), 32);
  ASSERT_EQ(hierarchy.domains(), 2);
  EXPECT_EQ(list(hierarchy.members(0)), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(list(hierarchy.members(1)), (std::vector<int>{3, 4}));
  EXPECT_TRUE(hierarchy.is_in_order());
  EXPECT_EQ(hierarchy.leaders_max(), 2);
  EXPECT_EQ(hierarchy.place_of(4), 1);
}

TEST(Hierarchy, NodesInTurn) {
  const Hierarchy hierarchy(on({0, 1, 0, 1, 0}), 32);
  ASSERT_EQ(hierarchy.domains(), 2);
  EXPECT_EQ(list(hierarchy.members(0)), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(hierarchy.domain_of(3), 1);
  EXPECT_FALSE(hierarchy.is_in_order());
}

TEST(Hierarchy, ALargeNodeIsCutIntoEqualDomains) {
  const Hierarchy hierarchy(on(std::vector<int>(70, 0)), 32);
  ASSERT_EQ(hierarchy.domains(), 3);
  for (int domain = 0; domain < 3; ++domain)
    EXPECT_NEAR(double(hierarchy.members(domain).size()), 70 / 3.0, 1);
  EXPECT_TRUE(hierarchy.is_in_order());
  EXPECT_EQ(hierarchy.leaders_max(), 23);
}

TEST(Hierarchy, DomainsAreWholeMemoryNodes) {
  EXPECT_EQ(sizes(Hierarchy(in_rows(128, 16, 8), 32)), (std::vector<std::size_t>(4, 32)));  // two each
  EXPECT_EQ(sizes(Hierarchy(in_rows(72, 24, 8), 32)), (std::vector<std::size_t>(3, 24)));
  EXPECT_EQ(sizes(Hierarchy(in_rows(60, 20, 5), 32)), (std::vector<std::size_t>(3, 20)));  // not two of 30
}

TEST(Hierarchy, LargeMemoryNodesAreCutBetweenCaches) {
  EXPECT_EQ(sizes(Hierarchy(in_rows(72, 36, 6), 32)), (std::vector<std::size_t>(4, 18)));
  EXPECT_EQ(sizes(Hierarchy(in_rows(96, 48, 48), 32)), (std::vector<std::size_t>(4, 24)));  // one cache each
  EXPECT_EQ(sizes(Hierarchy(in_rows(16, 16, 4), 4)), (std::vector<std::size_t>(4, 4)));
}

TEST(Hierarchy, OfSomeMembersOfANode) {
  const std::vector<MemberPlace> all = in_rows(128, 16, 8);
  std::vector<MemberPlace> places;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (rank % 16 < 5 || rank > 111) places.push_back(all[rank]);  // 5 of seven memory nodes, 16 of one
  EXPECT_EQ(sizes(Hierarchy(places, 32)), (std::vector<std::size_t>{20, 31}));
}

TEST(Hierarchy, ASmallNodeIsOneDomain) {
  EXPECT_EQ(sizes(Hierarchy(in_rows(32, 8, 4), 32)), (std::vector<std::size_t>{32}));
}

TEST(Hierarchy, EveryMemberIsWhereItsDomainSays) {
  std::vector<int> nodes(4096);
  for (std::size_t member = 0; member < nodes.size(); ++member) nodes[member] = int(member * member % 61);
  const Hierarchy hierarchy(on(nodes), 32);
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
