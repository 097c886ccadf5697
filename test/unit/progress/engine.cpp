// The engine over transports of a test: it polls all of them, and its sleep misses the news of none.
#include "progress/engine.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "base/big_lock.hpp"
#include "os/clock.hpp"
#include "os/futex.hpp"
#include "os/time_slice.hpp"
#include "peer/peer_memory.hpp"
#include "test/simulate/settings.hpp"
#include "transport/shm/transport.hpp"

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

/// Takes what is sent once it has been asked often enough, as a provider that connects; wakes nobody then.
class ConnectingTransport final : public transport::Transport {
 public:
  class Channel final : public transport::Channel {
   public:
    transport::Sent try_send(const transport::Envelope&, std::span<const std::byte>,
                             const Source&) noexcept override {
      if (tries_left == 0) return transport::Sent::yes;
      --tries_left;
      return transport::Sent::full;
    }
    std::size_t bytes_max() const noexcept override { return 1 << 12; }
    std::atomic<int> tries_left{0};
  };
  std::array<Channel, 3> channels;  // by peer
  std::atomic<int> sleeps{0};
  std::atomic<bool> is_held{false}, is_announced{false};  // a wait stays between its last turn and its sleep

  const char* name() const noexcept override { return "connecting"; }
  transport::Channel* connect(int peer) noexcept override { return &channels[std::size_t(peer)]; }
  int poll(transport::Inbox&) noexcept override { return 0; }
  bool can_sleep() const noexcept override { return true; }
  void announce_sleep() noexcept override {
    is_announced = true;
    while (is_held) ::usleep(100);
  }
  void sleep(std::int64_t timeout_ns) noexcept override {
    ++sleeps;
    os::futex_wait(is_woken_, 0, timeout_ns);
  }
  void withdraw_sleep() noexcept override { is_woken_ = 0; }
  void wake() noexcept override {
    is_woken_ = 1;
    os::futex_wake(is_woken_, 1);
  }

 private:
  std::atomic<std::uint32_t> is_woken_{0};
};

/// Another thread sends while a wait is asleep, or between its last turn and its sleep.
void send_beside_a_wait(bool is_just_before) {
  constexpr int kForEver = 1 << 30, kPolls = 50, kSleeps = 6;  // the last of them 100 ms
  ConnectingTransport transport;
  protocol::Messaging messaging(0, 3);
  messaging.add(transport);
  progress::Engine engine(messaging);
  engine.add(transport);
  progress::Engine::set_of_process(&engine);
  const auto send_to = [&](int peer, int tries) {
    const BigLock::Guard guard;
    transport.channels[std::size_t(peer)].tries_left = tries;
    messaging.peers.send_control(messaging.peers.of(peer), {.kind = protocol::ControlKind::resume});
  };
  send_to(1, kForEver);
  bool is_over = false;
  std::thread waits([&] {
    const BigLock::Guard guard;
    engine.wait_until(&is_set, &is_over, nullptr);
  });
  while (transport.sleeps < kSleeps) ::usleep(1000);
  if (is_just_before) {
    transport.is_held = true;
    transport.is_announced = false;
    while (!transport.is_announced) ::usleep(1000);
  }
  const std::int64_t start = os::now_ns();
  send_to(2, kPolls);
  transport.is_held = false;
  while (transport.channels[2].tries_left > 0) ::usleep(1000);
  EXPECT_LT(os::now_ns() - start, 1'000'000'000) << "it has slept between its polls";
  transport.channels[1].tries_left = 0;
  {
    const BigLock::Guard guard;
    is_over = true;
  }
  waits.join();
  (void)engine.poll();
  EXPECT_TRUE(messaging.is_idle());
  progress::Engine::set_of_process(nullptr);
}

TEST(Engine, WhatAnotherThreadBeginsIsPolledForThoughSomethingWaitedBefore) { send_beside_a_wait(false); }

TEST(Engine, WhatAnotherThreadBeginsJustBeforeASleepIsPolledFor) { send_beside_a_wait(true); }

TEST(Engine, FlowControlThatFindsNoRoomBeginsOnce) {
  ConnectingTransport transport;
  protocol::Messaging messaging(0, 2);
  messaging.add(transport);
  transport.channels[1].tries_left = 10;
  const std::uint64_t before = messaging.begun();
  messaging.peers.send_flow_control(messaging.peers.of(1));
  for (int i = 0; i < 5; ++i) (void)messaging.advance();
  messaging.peers.send_flow_control(messaging.peers.of(1));
  EXPECT_EQ(messaging.begun() - before, 1u);
  EXPECT_FALSE(messaging.is_idle());
  while (transport.channels[1].tries_left > 0) (void)messaging.advance();
  (void)messaging.advance();
  EXPECT_TRUE(messaging.is_idle());
  EXPECT_EQ(messaging.begun() - before, 1u);
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

struct NoMemories final : peer::Memories {
  std::unique_ptr<peer::PeerMemory> connect(int) noexcept override { return nullptr; }
  bool is_shared(const void*, std::size_t) noexcept override { return false; }
};

/// Completes its request in the first sleep, and notes what the peer of this process sees meanwhile.
class WatchedTransport final : public transport::Transport {
 public:
  WatchedTransport(Request& request, const transport::shm::Presence& seen) noexcept
      : request_(request), seen_(seen) {}
  int polls = 0;
  bool is_seen_polling = false, is_seen_asleep = false;

  const char* name() const noexcept override { return "watched"; }
  transport::Channel* connect(int) noexcept override { return nullptr; }
  int poll(transport::Inbox&) noexcept override {
    polls += !is_asleep_;
    is_seen_polling = seen_.place.load() != 0;
    return 0;
  }
  bool can_sleep() const noexcept override { return true; }
  void announce_sleep() noexcept override { is_asleep_ = true; }
  void sleep(std::int64_t) noexcept override {
    is_seen_asleep = seen_.place.load() != 0;
    request_.is_complete = true;
  }

 private:
  Request& request_;
  const transport::shm::Presence& seen_;
  bool is_asleep_ = false;
};

/// How often a rank that shares CPUs polls before it gives way, waiting for one with this word of presence.
int polls_before_giving_way(std::uint32_t place_of_peer) {
  const Settings settings({{"YIELD_US_SHARED", 0}, {"SPIN_POLLS_SHARED", 1}, {"SPIN_POLLS_BESIDE", 40}});
  const int fd = memfd_create("dunlin-test", MFD_CLOEXEC);
  constexpr std::array<int, 2> kPeers{0, 1};
  const auto mine = std::move(*transport::shm::Transport::open({fd, 4096, 0, kPeers}));
  const auto other = std::move(*transport::shm::Transport::open({fd, 4096, 1, kPeers}));
  close(fd);
  protocol::Messaging messaging(0, 2);
  progress::Engine engine(messaging);
  engine.set_oversubscribed(true);
  NoMemories memories;
  messaging.peers.join_node(*mine, memories);
  mine->presence(0).place = 1000;
  other->presence(1).place = place_of_peer;
  protocol::ReceiveRequest request;
  WatchedTransport watched(request, other->presence(0));
  engine.add(watched);
  engine.wait(request, 1);
  EXPECT_TRUE(watched.is_seen_polling);
  EXPECT_FALSE(watched.is_seen_asleep) << "who sleeps does not run";
  EXPECT_NE(mine->presence(0).place, 0u) << "it runs again";
  return watched.polls;
}

TEST(Engine, PollsForAPeerThatRunsOnAnotherCpu) { EXPECT_GE(polls_before_giving_way(2000), 40); }
TEST(Engine, GivesWayAtOnceToAPeerThatDoesNotRun) { EXPECT_LT(polls_before_giving_way(0), 5); }
TEST(Engine, GivesWayAtOnceToAPeerOfTheSameCpu) { EXPECT_LT(polls_before_giving_way(1000), 5); }

}  // namespace
}  // namespace dunlin::test
