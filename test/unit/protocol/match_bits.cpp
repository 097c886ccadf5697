// Context, source and tag survive in whatever bits there are, and no two messages that differ look alike.
#include "protocol/match_bits.hpp"

#include <gtest/gtest.h>

#include <set>

#include "match/matcher.hpp"

namespace dunlin::test {
namespace {

using match::kAny;
using protocol::MatchBits;

std::uint64_t context(int leader, std::uint32_t number, Plane plane) {
  return std::uint64_t(leader) << 34 | std::uint64_t(number) << 5 | std::uint64_t(7) << 2 |
         std::uint64_t(plane);
}

bool takes(const transport::Pattern& wanted, const transport::Pattern& sent) {
  return ((wanted.bits ^ sent.bits) & ~wanted.ignored) == 0;
}

TEST(MatchBits, SourcesAndTagsComeBackAtTheLimits) {
  for (const unsigned bits : {48u, 57u, 63u, 64u})
    for (const int ranks : {2, 3, 4, 7, 8, 9, 1000, 4096}) {
      ASSERT_TRUE(MatchBits::is_enough(bits, ranks));
      const MatchBits layout(bits, ranks);
      EXPECT_GE(layout.tag_max(), 32767);
      for (const int source : {0, 1, ranks - 1})
        for (const int tag : {0, 1, layout.tag_max()}) {
          const auto pattern =
              layout.pattern({context(ranks - 1, layout.numbers() - 1, Plane::named), source, tag});
          EXPECT_EQ(layout.source(pattern.bits), source);
          EXPECT_EQ(layout.tag(pattern.bits), tag);
          EXPECT_EQ(pattern.ignored, 0u);
          if (bits < 64) {
            EXPECT_EQ(pattern.bits >> bits, 0u) << bits << " bits, " << ranks << " ranks";
          }
        }
    }
}

TEST(MatchBits, SmallJobsHaveAllTagsAndLargeOnesThoseOfTheStandard) {
  EXPECT_EQ(MatchBits(64, 4).tag_max(), 0x7fffffff);
  EXPECT_GE(MatchBits(64, 4).numbers(), 1u << 20);
  EXPECT_LT(MatchBits(64, 4096).tag_max(), 0x7fffffff);
  EXPECT_EQ(MatchBits(64, 1 << 20).tag_max(), 32767);
  EXPECT_FALSE(MatchBits::is_enough(32, 4096));
}

TEST(MatchBits, WildcardsTakeWhatTheyShallAndNothingElse) {
  const MatchBits layout(64, 5);
  const std::uint64_t mine = context(2, 9, Plane::point_to_point),
                      others = context(2, 10, Plane::point_to_point);
  const auto sent = layout.pattern({mine, 3, 77});
  EXPECT_TRUE(takes(layout.pattern({mine, 3, 77}), sent));
  EXPECT_TRUE(takes(layout.pattern({mine, kAny, 77}), sent));
  EXPECT_TRUE(takes(layout.pattern({mine, 3, kAny}), sent));
  EXPECT_TRUE(takes(layout.pattern({mine, kAny, kAny}), sent));
  EXPECT_FALSE(takes(layout.pattern({mine, 4, kAny}), sent));
  EXPECT_FALSE(takes(layout.pattern({mine, kAny, 78}), sent));
  EXPECT_FALSE(takes(layout.pattern({others, kAny, kAny}), sent));
  EXPECT_FALSE(takes(layout.pattern({mine | std::uint64_t(Plane::collective), kAny, kAny}), sent));
}

TEST(MatchBits, ContextsOfAllLeadersDiffer) {
  const MatchBits layout(64, 7);
  std::set<std::uint64_t> seen;
  for (int leader = 0; leader < 7; ++leader)
    for (const std::uint32_t number : {0u, 1u, 2u, layout.numbers() - 1})
      for (const Plane plane : {Plane::point_to_point, Plane::collective, Plane::internal, Plane::named})
        seen.insert(layout.pattern({context(leader, number, plane), 0, 0}).bits);
  // Contexts that a hash has made have no leader.
  for (const std::uint64_t hash : {0x8000000000000000u, 0xffffffffffffffe0u})
    seen.insert(layout.pattern({hash, 0, 0}).bits);
  EXPECT_EQ(seen.size(), 7u * 4 * 4 + 2);
}

TEST(MatchBits, TagsOfPersistentCollectivesStayApart) {
  const MatchBits layout(48, 1000);
  const std::uint64_t collective = context(0, 0, Plane::collective);
  const int persistent = 1 << 30;
  const auto bits = [&](int tag) { return layout.pattern({collective, 0, tag}).bits; };
  EXPECT_NE(bits(5), bits(persistent | 5));
  EXPECT_NE(bits(persistent | 5), bits(persistent | 6));
  EXPECT_EQ(bits(persistent | 5), bits(persistent | 5));
}

TEST(MatchBits, KeysFitEachOtherWherePatternsDo) {
  for (const int ranks : {2, 5, 4096}) {
    const MatchBits layout(64, ranks);
    for (const int source : {kAny, 0, 1})
      for (const int tag : {kAny, 0, layout.tag_max()})
        for (const std::uint32_t number : {2u, 3u})
          for (const int sent_source : {0, 1})
            for (const int sent_tag : {0, 1, layout.tag_max()}) {
              const auto wanted = layout.pattern({context(1, number, Plane::point_to_point), source, tag});
              const auto sent = layout.pattern({context(1, 2, Plane::point_to_point), sent_source, sent_tag});
              EXPECT_EQ(match::Matcher::accepts(layout.key(wanted), layout.key(sent)), takes(wanted, sent));
              EXPECT_EQ(layout.bits(layout.key(sent)), sent.bits);
            }
  }
}

}  // namespace
}  // namespace dunlin::test
