#include "rma/locks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace dunlin::rma {
namespace {

/// Those who wait look all the time.
constexpr auto kNobody = [](int) {};

void lock(FairLock& lock, bool is_shared) {
  if (lock.try_enter(is_shared, 0)) return;
  const std::uint32_t ticket = lock.draw();
  while (!lock.try_enter_in_turn(ticket, is_shared, 0, kNobody)) std::this_thread::yield();
}
void wait_in_vain(FairLock& lock, std::uint32_t ticket, bool is_shared) {
  EXPECT_FALSE(lock.try_enter_in_turn(ticket, is_shared, 0, kNobody));
}
void wait_no_more(FairLock& lock, std::uint32_t ticket, bool is_shared) {
  EXPECT_TRUE(lock.try_enter_in_turn(ticket, is_shared, 0, kNobody));
}

TEST(FairLock, IsFreeAgainAfterAnyOrder) {
  FairLock one;
  for (int i = 0; i < 3; ++i) {
    lock(one, false);
    EXPECT_EQ(one.holder(), 1u);
    one.leave(false, kNobody);
    EXPECT_EQ(one.holder(), 0u);
    lock(one, true);
    lock(one, true);
    one.leave(true, kNobody);
    one.leave(true, kNobody);
  }
  EXPECT_TRUE(one.try_enter(false, 0));
}

TEST(FairLock, TicketsWrap) {
  FairLock one;
  for (int i = 0; i < (1 << 17) + 3; ++i) {
    lock(one, false);
    const std::uint32_t writer = one.draw(), reader = one.draw();
    EXPECT_EQ(one.before(reader), 1u);
    one.leave(false, kNobody);
    wait_no_more(one, writer, false);
    one.leave(false, kNobody);
    wait_no_more(one, reader, true);
    one.leave(true, kNobody);
  }
  EXPECT_TRUE(one.try_enter(false, 0));
}

TEST(FairLock, AReaderBehindAWriterWaits) {
  FairLock one;
  lock(one, true);
  const std::uint32_t writer = one.draw();
  EXPECT_FALSE(one.try_enter(true, 0)) << "readers that come and go would keep the writer out";
  const std::uint32_t reader = one.draw();
  wait_in_vain(one, writer, false);
  wait_in_vain(one, reader, true);
  one.leave(true, kNobody);
  wait_in_vain(one, reader, true);
  wait_no_more(one, writer, false);
  wait_in_vain(one, reader, true);
  one.leave(false, kNobody);
  wait_no_more(one, reader, true);
}

/// How many go past one who waits, if it looks so often meanwhile.
int passes(bool is_shared, int looks) {
  FairLock one;
  int count = 0;
  lock(one, false);
  const std::uint32_t ticket = one.draw();
  for (; looks > 0; --looks) wait_in_vain(one, ticket, is_shared);
  for (bool passes = true; passes && count < 10000; ++count) {
    one.leave(false, kNobody);
    passes = one.try_enter(false, 0);
  }
  EXPECT_FALSE(one.try_enter(true, 0));
  wait_no_more(one, ticket, is_shared);
  one.leave(is_shared, kNobody);
  EXPECT_TRUE(one.try_enter(false, 0)) << "nobody waits any more";
  return count - 1;
}

TEST(FairLock, WhoWaitsIsPassedSoOftenAndNotMore) {
  for (const bool is_shared : {false, true}) {
    EXPECT_EQ(passes(is_shared, 0), 512);
    EXPECT_EQ(passes(is_shared, 1), 384);
    EXPECT_EQ(passes(is_shared, 4), 0) << "where it is held for long nobody passes";
    EXPECT_EQ(passes(is_shared, 400), 0);
  }
}

TEST(FairLock, WhoHasSteppedAsideIsWaitedForByNobody) {
  FairLock one;
  lock(one, false);
  const std::uint32_t guest = one.draw(), other = one.draw();
  for (int look = 0; look < 4; ++look) wait_in_vain(one, guest, false);
  int woken = 0;
  const auto wake = [&](int) { ++woken; };
  one.step_aside(guest, wake);
  EXPECT_EQ(woken, 1) << "it was the first: the next may be a reader behind readers";
  EXPECT_FALSE(one.step_back(guest));
  EXPECT_EQ(one.before(other), 0u);
  one.leave(false, kNobody);
  wait_no_more(one, other, false);
  one.leave(false, kNobody);
  EXPECT_TRUE(one.try_enter(false, 0));
}

TEST(FairLock, WhoStepsBackInTimeKeepsItsPlace) {
  FairLock one;
  lock(one, false);
  const std::uint32_t first = one.draw(), guest = one.draw(), last = one.draw();
  one.step_aside(guest, kNobody);
  one.leave(false, kNobody);
  wait_no_more(one, first, false);
  EXPECT_TRUE(one.step_back(guest));
  one.leave(false, kNobody);
  wait_in_vain(one, last, false);
  wait_no_more(one, guest, false);
  const std::uint32_t again = one.draw();
  one.step_aside(again, kNobody);
  one.leave(false, kNobody);
  wait_no_more(one, last, false);
  one.leave(false, kNobody);  // takes it out
  EXPECT_FALSE(one.step_back(again));
  EXPECT_TRUE(one.try_enter(false, 0));
}

/// The next one's bound is its own.
TEST(FairLock, PassesAreCountedAnew) {
  FairLock one;
  lock(one, false);
  const std::uint32_t first = one.draw(), second = one.draw();
  for (int look = 0; look < 4; ++look) wait_in_vain(one, first, false);
  wait_in_vain(one, second, false);
  one.leave(false, kNobody);
  EXPECT_FALSE(one.try_enter(false, 0));
  wait_no_more(one, first, false);
  one.leave(false, kNobody);
  EXPECT_TRUE(one.try_enter(false, 0));
}

/// Each waiter sleeps on a word of its own, as ranks do; a wake-up that is missing hangs.
TEST(FairLock, WhoMayEnterIsWoken) {
  constexpr int kRanks = 20;  // more than FairLock::kPlaces
  FairLock one;
  std::atomic<std::uint32_t> words[kRanks] = {};
  const auto wake = [&](int rank) {
    for (int each = rank < 0 ? 0 : rank; each <= (rank < 0 ? kRanks - 1 : rank); ++each) {
      words[each].fetch_add(1);
      os::futex_wake(words[each], 1);
    }
  };
  int count = 0;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      for (int i = 0; i < 200; ++i) {
        const bool is_shared = (i + rank) % 3 == 0;
        if (!one.try_enter(is_shared, rank)) {
          const std::uint32_t ticket = one.draw();
          one.announce(ticket, rank);
          for (;;) {
            const std::uint32_t word = words[rank].load();
            std::atomic_thread_fence(
                std::memory_order_seq_cst);  // as the barrier of a sleeper (attention.hpp)
            if (one.try_enter_in_turn(ticket, is_shared, rank, wake)) break;
            os::futex_wait(words[rank], word, INT64_MAX);
          }
        }
        if (!is_shared) ++count;
        if (i % 20 == 0) std::this_thread::yield();  // somebody comes meanwhile
        one.leave(is_shared, wake);
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(count, kRanks * 200 - 1333);
}

TEST(FairLock, WhoIsAnnouncedLateHidesNobody) {
  constexpr std::uint32_t kRanks = FairLock::kPlaces + 1;  // the first and the last have one place
  FairLock one;
  lock(one, false);
  std::uint32_t tickets[kRanks];
  for (std::uint32_t& ticket : tickets) ticket = one.draw();
  for (std::uint32_t i = 1; i < kRanks; ++i) one.announce(tickets[i], int(i));
  one.announce(tickets[0], 0);
  for (std::uint32_t i = 0; i < kRanks; ++i) {
    bool is_woken = false;
    one.leave(false, [&](int rank) { is_woken |= rank == int(i) || rank == FairLock::kEverybody; });
    EXPECT_TRUE(is_woken) << i;
    wait_no_more(one, tickets[i], false);
  }
}

TEST(FairLock, HoldersAreAlone) {
  FairLock one;
  int words[2] = {0, 0};  // written together
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const bool is_shared = (i + t) % 3 != 0;
        lock(one, is_shared);
        if (!is_shared) ++words[0], ++words[1];
        if (words[0] != words[1]) ++wrong;
        one.leave(is_shared, kNobody);
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(words[0], 2667);
}

TEST(ShortLock, HoldersAreAlone) {
  ShortLock one;
  long count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        one.lock();
        ++count;
        one.unlock();
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(count, 80000);
}

}  // namespace
}  // namespace dunlin::rma
