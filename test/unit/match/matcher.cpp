// Matching against a slow reference that keeps plain lists in order, with seeded random keys and wildcards.
#include "match/matcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

using namespace dunlin::match;

namespace {

/// The standard's rule, literally: the first in order of posting (arrival) that fits.
template <class Item, class Fits>
Item* first_that(std::deque<Item*>& items, Fits fits) {
  const auto found = std::find_if(items.begin(), items.end(), fits);
  if (found == items.end()) return nullptr;
  Item* item = *found;
  items.erase(found);
  return item;
}

Key random_key(std::mt19937& random, bool may_be_wild) {
  const auto pick = [&](int n) { return int(random() % unsigned(n)); };
  Key key{std::uint64_t(pick(2)), pick(3), pick(3)};
  if (may_be_wild && pick(4) == 0) key.source = kAny;
  if (may_be_wild && pick(4) == 0) key.tag = kAny;
  return key;
}

TEST(Matcher, TakesPostedReceivesInTheOrderOfTheStandard) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Matcher matcher;
    std::vector<Posted> receives(2000);
    std::deque<Posted*> reference;
    std::size_t posted = 0;
    for (int step = 0; step < 4000; ++step) {
      if (posted < receives.size() && random() % 2) {
        Posted& receive = receives[posted++];
        receive.key = random_key(random, true);
        matcher.post(receive);
        reference.push_back(&receive);
      } else {
        const Key message = random_key(random, false);
        Posted* expected =
            first_that(reference, [&](Posted* p) { return Matcher::accepts(p->key, message); });
        ASSERT_EQ(matcher.take(message), expected);
      }
    }
  }
}

TEST(Matcher, FindsUnexpectedMessagesInTheOrderOfArrival) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Matcher matcher;
    std::deque<Unexpected*> reference;
    for (int step = 0; step < 4000; ++step) {
      if (random() % 2) {
        Unexpected* message = Matcher::create(random_key(random, false), random() % 100);
        matcher.add(*message);
        reference.push_back(message);
      } else {
        const Key wanted = random_key(random, true);
        Unexpected* expected =
            first_that(reference, [&](Unexpected* m) { return Matcher::accepts(wanted, m->key); });
        Unexpected* found = matcher.find(wanted);
        ASSERT_EQ(found, expected);
        if (!found) continue;
        matcher.remove(*found);
        Matcher::destroy(found);
      }
    }
    ASSERT_EQ(matcher.unexpected_count(), reference.size());
    for (Unexpected* message : reference) {
      matcher.remove(*message);
      Matcher::destroy(message);
    }
    EXPECT_FALSE(matcher.has_unexpected());
  }
}

TEST(Matcher, ComparesTheAwaitedReceiveByItsAge) {
  Matcher matcher;
  Posted older, awaited, younger;
  older.key = awaited.key = younger.key = {4, 1, 7};
  matcher.post(older);
  ASSERT_TRUE(matcher.try_await(awaited));
  EXPECT_FALSE(matcher.try_await(younger)) << "only one receive can be awaited";
  matcher.post(younger);
  EXPECT_EQ(matcher.take({4, 1, 8}), nullptr);
  EXPECT_EQ(matcher.take({4, 1, 7}), &older);
  EXPECT_EQ(matcher.take({4, 1, 7}), &awaited);
  EXPECT_EQ(matcher.take({4, 1, 7}), &younger);
  EXPECT_EQ(matcher.take({4, 1, 7}), nullptr);
}

TEST(Matcher, WithdrawsQueuedAndAwaitedReceives) {
  Matcher matcher;
  Posted queued, awaited;
  queued.key = awaited.key = {0, kAny, kAny};
  matcher.post(queued);
  ASSERT_TRUE(matcher.try_await(awaited));
  matcher.withdraw_any(queued);
  matcher.withdraw_any(awaited);
  EXPECT_EQ(matcher.take({0, 0, 0}), nullptr);
}

TEST(Matcher, RunsOfOneKeySpreadAndStartAnew) {
  // The queue keeps entries of one key in a list and spreads them when another key comes: order and the quick
  // look at the list have to hold before, during and after.
  Matcher matcher;
  const Key one{0, 1, 7}, other{0, 2, 7};
  for (int lap = 0; lap < 3; ++lap) {
    SCOPED_TRACE(lap);
    std::vector<Posted> receives(200);
    for (Posted& receive : receives) {
      receive.key = &receive == &receives[150] ? other : one;
      matcher.post(receive);
      const bool is_run = &receive < &receives[150];
      EXPECT_EQ(matcher.first_of_run(one), is_run ? &receives[0] : nullptr);
      EXPECT_EQ(matcher.first_of_run(other), nullptr);
    }
    EXPECT_EQ(matcher.take(other), &receives[150]);
    EXPECT_EQ(matcher.take(other), nullptr);
    matcher.withdraw(receives[1]);
    for (std::size_t i = 0; i < receives.size(); ++i)
      if (i != 150 && i != 1) {
        ASSERT_EQ(matcher.take(one), &receives[i]);
      }
    EXPECT_EQ(matcher.take(one), nullptr);
    EXPECT_TRUE(matcher.is_quiet());
  }
  Posted first, second, wild;
  first.key = second.key = one;
  wild.key = {0, kAny, 7};
  matcher.post(first);
  matcher.post(second);
  ASSERT_EQ(matcher.first_of_run(one), &first);
  matcher.take_first_of_run();
  matcher.post(wild);
  EXPECT_EQ(matcher.first_of_run(one), nullptr) << "with wildcards about the answer needs a search";
  EXPECT_EQ(matcher.take(one), &second);
  EXPECT_EQ(matcher.take(one), &wild);
  EXPECT_TRUE(matcher.is_quiet());
}

TEST(Matcher, TenThousandReceivesAheadCostNoWalk) {
  // Not timed: the table keeps buckets short, which is what makes the time flat.
  Matcher matcher;
  std::vector<Posted> receives(10'000);
  for (int i = 0; i < 10'000; ++i) {
    receives[std::size_t(i)].key = {0, 0, i};
    matcher.post(receives[std::size_t(i)]);
  }
  for (int i = 9'999; i >= 0; --i) ASSERT_EQ(matcher.take({0, 0, i}), &receives[std::size_t(i)]);
}

TEST(Unexpected, StaysSmall) { EXPECT_LE(sizeof(Unexpected), 64u); }

}  // namespace
