// object/group.cpp, comm/group_functions.cpp, comm/group_sets.cpp.  Random cases against a slow reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "comm/functions.hpp"

namespace dunlin::comm {
namespace {

using Ranks = std::vector<int>;

Ref<Group> make(Ranks members, int me = 0) { return Ref<Group>::adopt(new Group(std::move(members), me)); }
Ranks members(const Group& group) { return Ranks(group.span().begin(), group.span().end()); }

/// Runs an operation that makes a group and gives its members; {-1} where it failed.
template <class Operation>
Ranks result(Operation operation) {
  Group* made = nullptr;
  if (operation(&made) != Err::ok) return {-1};
  const Ranks found = members(*made);
  EXPECT_EQ(made == &empty_group(), found.empty());
  EXPECT_EQ(group_free(*made), Err::ok);
  return found;
}

Ref<Group> identity(int size, int me = 0) {
  Ranks all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return make(all, me);
}

TEST(Groups, RankIsUndefinedForOthers) {
  int rank = 0, size = 0;
  const auto without = make({3, 4}, 0), with = make({3, 0}, 0);
  EXPECT_EQ(group_rank(*without, &rank), Err::ok);
  EXPECT_EQ(rank, MPI_UNDEFINED);
  EXPECT_EQ(group_rank(*with, &rank), Err::ok);
  EXPECT_EQ(rank, 1);
  EXPECT_EQ(group_size(empty_group(), &size), Err::ok);
  EXPECT_EQ(size, 0);
}

TEST(Groups, SetsKeepTheStandardsOrder) {
  const auto a = make({5, 1, 3}), b = make({3, 7, 5, 0});
  EXPECT_EQ(result([&](Group** g) { return group_union(*a, *b, g); }), (Ranks{5, 1, 3, 7, 0}));
  EXPECT_EQ(result([&](Group** g) { return group_intersection(*a, *b, g); }), (Ranks{5, 3}));
  EXPECT_EQ(result([&](Group** g) { return group_difference(*a, *b, g); }), (Ranks{1}));
  EXPECT_EQ(result([&](Group** g) { return group_difference(*a, *a, g); }), Ranks{});
  EXPECT_EQ(result([&](Group** g) { return group_union(empty_group(), *b, g); }), members(*b));
}

TEST(Groups, UnionWithTheEmptyGroupKnowsItsOwnRank) {
  const auto b = make({3, 7}, 7);
  Group* made = nullptr;
  EXPECT_EQ(group_union(empty_group(), *b, &made), Err::ok);
  EXPECT_EQ(made->rank(), 1);
  EXPECT_EQ(group_free(*made), Err::ok);
}

TEST(Groups, InclAndExcl) {
  const auto group = make({10, 11, 12, 13}, 12);
  const int ranks[] = {3, 0};
  EXPECT_EQ(result([&](Group** g) { return group_incl(*group, 2, ranks, g); }), (Ranks{13, 10}));
  EXPECT_EQ(result([&](Group** g) { return group_excl(*group, 2, ranks, g); }), (Ranks{11, 12}));
  EXPECT_EQ(result([&](Group** g) { return group_incl(*group, 0, nullptr, g); }), Ranks{});
  EXPECT_EQ(result([&](Group** g) { return group_excl(*group, 0, nullptr, g); }), members(*group));
  const int twice[] = {1, 1}, outside[] = {4}, negative[] = {-1};
  Group* made = nullptr;
  EXPECT_EQ(group_incl(*group, 2, twice, &made), Err::rank);
  EXPECT_EQ(group_excl(*group, 2, twice, &made), Err::rank);
  EXPECT_EQ(group_incl(*group, 1, outside, &made), Err::rank);
  EXPECT_EQ(group_incl(*group, 1, negative, &made), Err::rank);
  EXPECT_EQ(made, nullptr);
}

TEST(Groups, RangesWithAnyStride) {
  const auto group = identity(20);
  const int ranges[][3] = {{9, 0, -3}, {1, 1, 7}, {10, 16, 4}};
  EXPECT_EQ(result([&](Group** g) { return group_range_incl(*group, 3, ranges, g); }),
            (Ranks{9, 6, 3, 0, 1, 10, 14}));
  const int most[][3] = {{19, 1, -1}};
  EXPECT_EQ(result([&](Group** g) { return group_range_excl(*group, 1, most, g); }), Ranks{0});
  Group* made = nullptr;
  const int still[][3] = {{0, 3, 0}}, away[][3] = {{3, 0, 1}}, beyond[][3] = {{0, 20, 1}},
            again[][3] = {{0, 2, 1}, {2, 3, 1}};
  EXPECT_EQ(group_range_incl(*group, 1, still, &made), Err::arg);
  EXPECT_EQ(group_range_incl(*group, 1, away, &made), Err::arg);
  EXPECT_EQ(group_range_excl(*group, 1, beyond, &made), Err::rank);
  EXPECT_EQ(group_range_incl(*group, 2, again, &made), Err::rank);
  const int far[][3] = {{0, 19, 2147483647}};  // must not overflow
  EXPECT_EQ(result([&](Group** g) { return group_range_incl(*group, 1, far, g); }), Ranks{0});
}

TEST(Groups, Compare) {
  int how = 0;
  const auto a = make({2, 1}), b = make({2, 1}), c = make({1, 2}), d = make({1, 3}), e = make({1});
  EXPECT_EQ(group_compare(*a, *b, &how), Err::ok);
  EXPECT_EQ(how, MPI_IDENT);
  EXPECT_EQ(group_compare(*a, *c, &how), Err::ok);
  EXPECT_EQ(how, MPI_SIMILAR);
  EXPECT_EQ(group_compare(*a, *d, &how), Err::ok);
  EXPECT_EQ(how, MPI_UNEQUAL);
  EXPECT_EQ(group_compare(*a, *e, &how), Err::ok);
  EXPECT_EQ(how, MPI_UNEQUAL);
  EXPECT_EQ(group_compare(empty_group(), empty_group(), &how), Err::ok);
  EXPECT_EQ(how, MPI_IDENT);
}

TEST(Groups, TranslateRanks) {
  const auto a = make({5, 6, 7}), b = make({7, 5});
  const int from[] = {0, MPI_PROC_NULL, 1, 2, 0};
  int to[5];
  EXPECT_EQ(group_translate_ranks(*a, 5, from, *b, to), Err::ok);
  EXPECT_EQ(Ranks(to, to + 5), (Ranks{1, MPI_PROC_NULL, MPI_UNDEFINED, 0, 1}));
  const int bad[] = {3};
  EXPECT_EQ(group_translate_ranks(*a, 1, bad, *b, to), Err::rank);
}

TEST(Groups, RandomOnesAgreeWithASlowReference) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    Ranks pool(static_cast<std::size_t>(1 + random() % 80));
    std::iota(pool.begin(), pool.end(), int(random() % 3));
    std::shuffle(pool.begin(), pool.end(), random);
    const Ranks one(pool.begin(), pool.begin() + std::ptrdiff_t(random() % pool.size()));
    std::shuffle(pool.begin(), pool.end(), random);
    const Ranks two(pool.begin(), pool.begin() + std::ptrdiff_t(random() % pool.size()));
    const auto has = [](const Ranks& all, int member) {
      return std::find(all.begin(), all.end(), member) != all.end();
    };
    Ranks both, only, either = one;
    for (int member : one) (has(two, member) ? both : only).push_back(member);
    for (int member : two)
      if (!has(one, member)) either.push_back(member);
    const auto a = make(one), b = make(two);
    EXPECT_EQ(result([&](Group** g) { return group_intersection(*a, *b, g); }), both);
    EXPECT_EQ(result([&](Group** g) { return group_difference(*a, *b, g); }), only);
    EXPECT_EQ(result([&](Group** g) { return group_union(*a, *b, g); }), either);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(a->rank_of(one[i]), int(i));
  }
}

TEST(Groups, LargeOnesTakeNoQuadraticTime) {
  constexpr int kSize = 1'000'000;
  Ranks odd, all(kSize);
  std::iota(all.begin(), all.end(), 0);
  std::reverse(all.begin(), all.end());
  for (int i = 1; i < kSize; i += 2) odd.push_back(i);
  const auto a = make(all), b = make(odd);
  EXPECT_EQ(result([&](Group** g) { return group_difference(*a, *b, g); }).size(), std::size_t(kSize) / 2);
  EXPECT_EQ(result([&](Group** g) { return group_union(*b, *a, g); }).size(), std::size_t(kSize));
}

}  // namespace
}  // namespace dunlin::comm
