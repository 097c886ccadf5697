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
  const std::uint32_t ticket = lock.draw();
  while (!lock.may_enter(ticket, is_shared)) std::this_thread::yield();
  lock.enter(ticket, is_shared, 0, kNobody);
}

TEST(FairLock, IsFreeAgainAfterAnyOrder) {
  FairLock one;
  one.next = one.served = one.readers = 0xfffffffe;  // numbers wrap
  for (int i = 0; i < 3; ++i) {
    lock(one, false);
    one.leave(false, kNobody);
    lock(one, true);
    lock(one, true);
    one.leave(true, kNobody);
    one.leave(true, kNobody);
  }
  EXPECT_EQ(one.next, one.served);
  EXPECT_EQ(one.next, one.readers);
  EXPECT_EQ(one.waiting, 0u);
}

TEST(FairLock, AReaderBehindAWriterWaits) {
  FairLock one;
  lock(one, true);
  const std::uint32_t writer = one.draw();
  const std::uint32_t reader = one.draw();
  EXPECT_FALSE(one.may_enter(writer, false));
  EXPECT_FALSE(one.may_enter(reader, true)) << "it must not overtake the writer";
  one.leave(true, kNobody);
  EXPECT_TRUE(one.may_enter(writer, false));
  EXPECT_FALSE(one.may_enter(reader, true));
  one.leave(false, kNobody);
  EXPECT_TRUE(one.may_enter(reader, true));
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
        const std::uint32_t ticket = one.draw();
        if (!one.may_enter(ticket, is_shared)) {
          one.announce(ticket, rank);
          for (;;) {
            const std::uint32_t word = words[rank].load();
            std::atomic_thread_fence(
                std::memory_order_seq_cst);  // as the barrier of a sleeper (attention.hpp)
            if (one.may_enter(ticket, is_shared)) break;
            os::futex_wait(words[rank], word, 50'000'000);
          }
          one.withdraw();
        }
        one.enter(ticket, is_shared, 0, wake);
        if (!is_shared) ++count;
        one.leave(is_shared, wake);
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(count, kRanks * 200 - 1333);
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
