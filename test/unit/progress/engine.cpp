// The engine over transports of a test: it polls all of them, and its sleep misses the news of none.
#include "progress/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "os/time_slice.hpp"

namespace dunlin::test {
namespace {

/// Counts what the engine does with it; its news come when the test says so.
class FakeTransport final : public transport::Transport {
 public:
  FakeTransport(bool sleeps, bool must_be_polled) noexcept
      : sleeps_(sleeps), must_be_polled_(must_be_polled) {}
  int news_after_sleeps = -1;  // -1: none
  int announced = 0, withdrawn = 0;
  bool wakes_elsewhere = false;  // its news end a sleep in another transport
  std::int64_t slept_ns_most = 0;
  bool* delivered = nullptr;

  const char* name() const noexcept override { return "fake"; }
  transport::Channel* connect(int) noexcept override { return nullptr; }
  int poll(transport::Inbox&) noexcept override {
    if (news_after_sleeps < 0 || withdrawn < news_after_sleeps || *delivered) return 0;
    *delivered = true;
    return 1;
  }
  bool can_sleep() const noexcept override { return sleeps_; }
  bool must_be_polled() const noexcept override { return must_be_polled_; }
  void announce_sleep() noexcept override { ++announced; }
  bool announce_sleep_in(transport::Transport& place) noexcept override {
    return transport::Transport::announce_sleep_in(place) || wakes_elsewhere;
  }
  void sleep(std::int64_t timeout_ns) noexcept override {
    slept_ns_most = std::max(slept_ns_most, timeout_ns);
  }
  void withdraw_sleep() noexcept override { ++withdrawn; }

 private:
  const bool sleeps_, must_be_polled_;
};

bool is_set(const void* flag) noexcept { return *static_cast<const bool*>(flag); }

/// Waits for news of `second` and answers how long the engine would have slept in `first` at most.
std::int64_t wait_for_second(FakeTransport& first, FakeTransport& second) {
  bool is_delivered = false;
  first.delivered = second.delivered = &is_delivered;
  second.news_after_sleeps = 3;
  protocol::Messaging messaging(0, 1);
  progress::Engine engine(messaging);
  engine.add(first);
  engine.add(second);
  engine.wait_until(&is_set, &is_delivered, nullptr);
  EXPECT_EQ(first.announced, first.withdrawn);
  EXPECT_EQ(second.announced, second.withdrawn);
  EXPECT_EQ(first.announced, 3);
  EXPECT_EQ(second.announced, 3) << "both must know of the sleep";
  return first.slept_ns_most;
}

constexpr std::int64_t kNapNsMax = 50'000;

TEST(Engine, SleepsAsLongAsItLikesWhereOnlyOneTransportHasNews) {
  FakeTransport first(true, false), second(false, false);
  EXPECT_GT(wait_for_second(first, second), kNapNsMax);
}

TEST(Engine, OnlyNapsWhereASecondTransportMustBePolled) {
  FakeTransport first(true, false), second(false, true);
  EXPECT_LE(wait_for_second(first, second), kNapNsMax);
}

TEST(Engine, SleepsAsLongAsItLikesWhereTheSecondEndsASleepInTheFirst) {
  FakeTransport first(true, false), second(true, false);
  second.wakes_elsewhere = true;
  EXPECT_GT(wait_for_second(first, second), kNapNsMax);
}

TEST(Engine, OnlyNapsWhereTwoTransportsWakeIt) {
  FakeTransport first(true, false), second(true, false);
  EXPECT_LE(wait_for_second(first, second), kNapNsMax);
}

TEST(Engine, RanksThatShareCpusHaveShortTurns) {
  std::thread([] {  // turns are a thread's
    protocol::Messaging messaging(0, 1);
    progress::Engine engine(messaging);
    const std::int64_t before = os::time_slice();
    engine.set_oversubscribed(false);
    EXPECT_EQ(os::time_slice(), before);
    engine.set_oversubscribed(true);
    EXPECT_EQ(os::time_slice(), std::min<std::int64_t>(before, 100'000));
  })
      .join();
}

}  // namespace
}  // namespace dunlin::test
