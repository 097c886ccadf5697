#include "rma/locks.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace dunlin::rma {
namespace {

/// As rma/passive.cpp does it.
void lock(FairLock& lock, bool is_shared) {
  const std::uint32_t ticket = lock.draw();
  while (!lock.may_enter(ticket, is_shared)) lock.sleep(ticket, is_shared, 2'000'000);
  lock.enter(ticket, is_shared);
}

TEST(FairLock, IsFreeAgainAfterAnyOrder) {
  FairLock one;
  one.next = one.served = one.readers = 0xfffffffe;  // numbers wrap
  for (int i = 0; i < 3; ++i) {
    lock(one, false);
    one.leave(false);
    lock(one, true);
    lock(one, true);
    one.leave(true);
    one.leave(true);
  }
  EXPECT_EQ(one.next, one.served);
  EXPECT_EQ(one.next, one.readers);
  EXPECT_EQ(one.sleepers, 0u);
}

TEST(FairLock, AReaderBehindAWriterWaits) {
  FairLock one;
  lock(one, true);
  const std::uint32_t writer = one.draw();
  const std::uint32_t reader = one.draw();
  EXPECT_FALSE(one.may_enter(writer, false));
  EXPECT_FALSE(one.may_enter(reader, true)) << "it must not overtake the writer";
  one.leave(true);
  EXPECT_TRUE(one.may_enter(writer, false));
  EXPECT_FALSE(one.may_enter(reader, true));
  one.leave(false);
  EXPECT_TRUE(one.may_enter(reader, true));
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
        one.leave(is_shared);
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
