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
          .maps = each.take(),
          .reads = each.take(),
          .is_kernel_slower = each.take()};
}

constexpr unsigned kCombinations = 1u << 5;
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
    EXPECT_NE(way == Way::channel, facts.maps);
  });
}

TEST(Choose, OfferedMessagesTakeTheFirstWayThatIsThere) {
  for_all([](const Facts& facts, Way way) {
    if (way == Way::channel) return;
    const Way beyond = facts.reads && !facts.is_kernel_slower ? Way::remote_read : Way::pieces;
    EXPECT_EQ(way, facts.is_to_self ? Way::to_self : facts.maps ? Way::shared_copy : beyond);
  });
}

TEST(Choose, TakingAWayOffTwiceEndsAtTheChannel) {
  for_all([](Facts facts, Way way) {
    if (way == Way::channel || way == Way::to_self) return;
    facts.must_be_offered = true;  // as the receiver of the offer chooses
    facts.maps = false;
    facts.reads = false;
    EXPECT_EQ(choose(facts), Way::pieces);
  });
}

}  // namespace
}  // namespace dunlin::protocol
