#include "transport/shm/bell.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace dunlin::transport::shm {
namespace {

constexpr std::int64_t kForever = INT64_MAX;

/// The sleeper never sleeps behind a message: otherwise this hangs.
TEST(Bell, WakesWhoeverSleeps) {
  constexpr int kMessages = 20000;
  Bell bell{};
  std::atomic<int> sent = 0, seen = 0;
  std::thread sleeper([&] {
    while (seen.load() < kMessages) {
      bell.announce();
      seen.store(sent.load());
      if (seen.load() < kMessages) bell.sleep(kForever);
    }
    bell.withdraw();
  });
  for (int i = 1; i <= kMessages; ++i) {
    sent.store(i);
    bell.ring();
    if (i % 50 == 0)
      while (seen.load() < i) std::this_thread::yield();
  }
  sleeper.join();
  EXPECT_EQ(bell.word, Bell::kNobody);
}

TEST(Bell, RingsNobodyWhereNobodyListens) {
  Bell bell{};
  bell.ring();
  EXPECT_EQ(bell.word, Bell::kNobody);
}

}  // namespace
}  // namespace dunlin::transport::shm
