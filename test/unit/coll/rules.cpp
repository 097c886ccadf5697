// What goes through shared memory, and what from buffer to buffer.
#include "coll/rules.hpp"

#include <gtest/gtest.h>

namespace dunlin::coll {
namespace {

Facts facts_of(std::size_t bytes, bool share_cpus) {
  Facts facts{.ranks = 2, .bytes = bytes};
  facts.share_memory = true;
  facts.share_cpus = share_cpus;
  return facts;
}

TEST(Rules, WhereRanksShareCpusABlockIsShortUpToTheMultipleOfItsCollective) {
  for (const int multiple : {kShortCombined, kShort, kShortBcast}) {
    const std::size_t most = std::size_t(multiple) * shared_bytes_max();
    EXPECT_TRUE(is_short(facts_of(most, true), multiple));
    EXPECT_FALSE(is_short(facts_of(most + 1, true), multiple));
  }
}

TEST(Rules, WhereRanksHaveTheirOwnThatOfARootIsNoLongerThanOthers) {
  const std::size_t most = std::size_t(kShort) * shared_bytes_max();
  EXPECT_TRUE(is_short(facts_of(most, false), kShortBcast));
  EXPECT_FALSE(is_short(facts_of(most + 1, false), kShortBcast));
  EXPECT_FALSE(is_short(facts_of(shared_bytes_max() + 1, false), kShortCombined));
}

TEST(Rules, BlocksOfAllRanksMustFitOneRoom) {
  Facts facts = facts_of(8 << 10, true);
  facts.ranks = facts.blocks = 32;
  EXPECT_FALSE(is_short(facts, kShort));
  facts.blocks = 8;
  EXPECT_TRUE(is_short(facts, kShort));
}

TEST(Rules, NothingIsShortWithoutSharedMemory) {
  Facts facts = facts_of(8, true);
  facts.share_memory = false;
  EXPECT_FALSE(is_short(facts, kShort));
}

}  // namespace
}  // namespace dunlin::coll
