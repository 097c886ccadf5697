// The whole table of choose.hpp: every combination of facts against rules that are written the other way
// round.
#include "protocol/choose.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace dunlin::protocol {
namespace {

constexpr std::size_t kEager = 1000, kShared = 100;

struct Bits {
  unsigned value;
  bool take() {
    const bool bit = value & 1;
    value >>= 1;
    return bit;
  }
};

Facts facts_of(unsigned bits, std::size_t bytes) {
  Bits each{bits};
  return {.bytes = bytes,
          .eager_bytes = kEager,
          .shared_bytes = kShared,
          .is_to_self = each.take(),
          .must_be_offered = each.take(),
          .has_gaps = each.take(),
          .is_far = each.take(),
          .may_map = each.take(),
          .is_mappable = each.take(),
          .reads = each.take(),
          .is_kernel_slower = each.take()};
}

constexpr unsigned kCombinations = 1u << 8;
constexpr std::size_t kSizes[] = {0, 1, kShared - 1, kShared, kEager, kEager + 1, std::size_t{1} << 40};

template <class Check>
void for_all(Check&& check) {
  for (unsigned bits = 0; bits < kCombinations; ++bits)
    for (std::size_t bytes : kSizes) {
      const Facts facts = facts_of(bits, bytes);
      SCOPED_TRACE(testing::Message() << "bits " << bits << ", " << bytes << " bytes");
      check(facts, choose(facts));
    }
}

/// By length.
bool maps(const Facts& facts) {
  if (facts.bytes > kEager) return facts.may_map && (facts.is_mappable || !facts.reads);
  if (facts.is_far && !facts.has_gaps && !facts.must_be_offered) return false;
  return facts.may_map && facts.is_mappable;
}

TEST(Choose, ShortMessagesGoWholeUnlessTheReceiverSaysNo) {
  for_all([](const Facts& facts, Way way) {
    const bool is_certain = !facts.must_be_offered && facts.bytes < kShared;
    const bool is_out = facts.must_be_offered || facts.bytes > kEager;
    EXPECT_FALSE(is_certain && way != Way::channel);
    EXPECT_FALSE(is_out && way == Way::channel);
  });
}

TEST(Choose, WhatMapsIsCopiedOnceFromASmallerSizeOn) {
  for_all([](const Facts& facts, Way way) {
    if (facts.must_be_offered || facts.bytes < kShared || facts.bytes > kEager) return;
    EXPECT_NE(way == Way::channel, maps(facts));
  });
}

TEST(Choose, OfferedMessagesTakeTheFirstWayThatIsThere) {
  for_all([](const Facts& facts, Way way) {
    if (way == Way::channel) return;
    const Way beyond = facts.reads && !facts.is_kernel_slower ? Way::remote_read : Way::pieces;
    EXPECT_EQ(way, facts.is_to_self ? Way::to_self : maps(facts) ? Way::shared_copy : beyond);
  });
}

TEST(Choose, TakingAWayOffTwiceEndsAtTheChannel) {
  for_all([](Facts facts, Way way) {
    if (way == Way::channel || way == Way::to_self) return;
    facts.must_be_offered = true;  // as the receiver of the offer chooses
    facts.may_map = false;
    facts.reads = false;
    EXPECT_EQ(choose(facts), Way::pieces);
  });
}

TEST(Choose, FarRanksSendWholeWhatFitsAndNothingElseChanges) {
  for_all([](Facts facts, Way way) {
    if (!facts.is_far) return;
    if (facts.bytes <= kEager && !facts.has_gaps && !facts.must_be_offered) {
      EXPECT_EQ(way, Way::channel);
    } else {
      facts.is_far = false;
      EXPECT_EQ(way, choose(facts));
    }
  });
}

TEST(Choose, AChanceThatTheOtherBufferMapsIsTakenWhereNothingIsSure) {
  for_all([](const Facts& facts, Way way) {
    if (facts.is_mappable) return;
    const bool is_taken =
        facts.may_map && !facts.reads && !facts.is_to_self && facts.bytes > facts.eager_bytes;
    EXPECT_EQ(way == Way::shared_copy, is_taken);
  });
}

/// What a send asks before anything else, and with gaps half of it (sender.cpp).
TEST(Choose, UpToTheCertainLengthTheChannelIsChosenWhateverElseHolds) {
  for (const std::int64_t eager : {0, 1, 7, 1000})
    for (const std::int64_t shared : {1, 2, 7, 8, 2000})
      for (unsigned bits = 0; bits < kCombinations; ++bits) {
        Facts facts = facts_of(bits, 0);
        const std::int64_t most = certain_bytes_max(eager, shared, facts.must_be_offered) >> facts.has_gaps;
        facts.eager_bytes = std::size_t(eager);
        facts.shared_bytes = std::size_t(facts.has_gaps ? (shared + 1) / 2 : shared);
        for (std::int64_t bytes = 0; bytes <= most; ++bytes) {
          facts.bytes = std::size_t(bytes);
          ASSERT_EQ(choose(facts), Way::channel) << "bits " << bits << ", " << bytes << " bytes";
        }
      }
}

TEST(Choose, TheCertainLengthIsAsLongAsCanBe) {
  EXPECT_EQ(certain_bytes_max(1000, 100, false), 99);
  EXPECT_EQ(certain_bytes_max(100, 1000, false), 100);
  EXPECT_EQ(certain_bytes_max(100, 1000, true), -1);
  EXPECT_EQ(certain_bytes_max(-1, 1000, false), -1);
  Facts facts{.bytes = 100, .eager_bytes = 1000, .shared_bytes = 100, .may_map = true, .is_mappable = true};
  EXPECT_NE(choose(facts), Way::channel);
  facts = {.bytes = 101, .eager_bytes = 100, .shared_bytes = 1000};
  EXPECT_NE(choose(facts), Way::channel);
}

}  // namespace
}  // namespace dunlin::protocol
