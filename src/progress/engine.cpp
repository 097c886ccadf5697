#include "progress/engine.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/big_lock.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"

namespace dunlin::progress {
namespace {

// Defaults measured by docs/decisions/0008-waiting.md (2 cores of an AMD EPYC, Linux 6.18).
IntVariable spin_polls{"SPIN_POLLS", 2000, "polls",
                       "how often a wait polls before it offers the core to others", 0};
IntVariable spin_polls_shared{"SPIN_POLLS_SHARED", 3, "polls",
                              "the same where ranks share cores (more ranks than CPUs)", 0};
IntVariable spin_polls_answered{"SPIN_POLLS_ANSWERED", 40, "polls",
                                "the same for one peer, while it answers that soon and in 4 waits of 64", 0};
IntVariable yield_us{"YIELD_US", 1000, "us", "how long a wait then yields between polls before it sleeps", 0};
IntVariable yield_us_shared{"YIELD_US_SHARED", 200, "us", "the same where ranks share cores", 0};
IntVariable direct_polls{"DIRECT_POLLS",
                         100,
                         "polls",
                         "how often a blocking receive looks at its sender's ring alone before it polls all",
                         1,
                         1 << 20};
IntVariable held_back_report{
    "HELD_BACK_REPORT", 10, "s",
    "a send that waits longer because its receiver holds too much unexpected data says so", 1};
IntVariable wait_report{"WAIT_REPORT", 0, "s", "a wait longer than this prints what it waits for; 0: never",
                        0};

constexpr std::int64_t kSleepNsMin = 5'000'000;  // net under a lost wake-up; doubles up to
constexpr std::int64_t kSleepNsMax = 100'000'000;
constexpr std::int64_t kSleepBusyNs = 100'000;       // while sends wait for room: nobody wakes us for that
constexpr std::int64_t kSleepThreadsNs = 1'000'000;  // another thread may hand us sends meanwhile

}  // namespace

/// How a wait spends its time while nothing moves: polls, then yields, then sleeps; starts over when
/// something moved.
class Engine::Patience {
 public:
  enum class Step : std::uint8_t { poll, yield, sleep };

  Patience(std::int64_t polls_max, bool shares_core) noexcept
      : polls_max_(polls_max), yield_ns_max_((shares_core ? yield_us_shared.get() : yield_us.get()) * 1000) {}

  Step next() noexcept {
    if (polls_++ < polls_max_) return Step::poll;
    const std::int64_t now = os::now_ns();
    if (idle_since_ == 0) idle_since_ = now;
    if (waiting_since_ == 0) waiting_since_ = now;
    waited_ns_ = now - waiting_since_;
    if (now - idle_since_ < yield_ns_max_) return Step::yield;
    return Step::sleep;
  }
  void moved() noexcept {
    polls_ = 0;
    idle_since_ = 0;
    sleep_ns_ = kSleepNsMin;
  }
  std::int64_t sleep_ns() noexcept {
    const std::int64_t now = sleep_ns_;
    sleep_ns_ = std::min(2 * sleep_ns_, kSleepNsMax);
    return now;
  }
  /// True once per wait, when `after_ns` have passed.
  bool is_report_due(std::int64_t after_ns) noexcept {
    if (has_reported_ || waited_ns_ < after_ns) return false;
    return has_reported_ = true;
  }
  int waited_s() const noexcept { return int(waited_ns_ / 1'000'000'000); }
  /// Whether polling alone has not been enough.
  bool has_given_way() const noexcept { return waiting_since_ != 0; }

 private:
  const std::int64_t polls_max_, yield_ns_max_;
  std::int64_t polls_ = 0;
  std::int64_t idle_since_ = 0;     // ns; 0: not looked yet
  std::int64_t waiting_since_ = 0;  // ns; 0: not looked yet
  std::int64_t waited_ns_ = 0;
  std::int64_t sleep_ns_ = kSleepNsMin;
  bool has_reported_ = false;
};

void Engine::set_oversubscribed(bool oversubscribed) noexcept {
  is_oversubscribed_ = oversubscribed;
  protocol.set_polls_direct(oversubscribed ? 1 : int(direct_polls.get()));
}

/// Where ranks share cores, polling takes the core from the rank that is awaited, unless that one runs at
/// this moment on another core: then its answer comes within a poll or forty, and both go on without a switch
/// (a switch costs as much as ten messages).  So a wait for one peer that polling ended makes the next one
/// poll longer; the first that it does not end stops that, and from then on four waits in 64 try again: in a
/// row, as both sides have to try at the same time.  Collectives wait for many and gain nothing.
std::int64_t Engine::polls_before_yield(bool is_for_one_peer) noexcept {
  if (!is_oversubscribed_) return spin_polls.get();
  if (!is_for_one_peer) return spin_polls_shared.get();
  const bool is_try = ++waits_shared_ % 64 < 4;
  return is_answered_soon_ || is_try ? spin_polls_answered.get() : spin_polls_shared.get();
}

bool Engine::poll_parked() noexcept {
  // Work may add work while it is polled: the list is taken off first, what stays is put back.
  bool moved = false;
  Pollable* each = parked_;
  parked_ = nullptr;
  while (each) {
    Pollable* const next = each->next_;
    const Pollable::Outcome outcome = each->poll();
    moved |= outcome != Pollable::Outcome::idle;
    if (outcome != Pollable::Outcome::finished) add(*each);
    each = next;
  }
  return moved;
}

void Engine::wait_slow(const Request* reason, Done done, const void* argument,
                       bool is_for_one_peer) noexcept {
  const bool has_threads = BigLock::is_needed();
  Patience patience(polls_before_yield(is_for_one_peer), is_oversubscribed_);
  while (!done(argument)) {
    if (has_threads && has_poller_) {
      watch();
      continue;
    }
    if (poll()) {
      patience.moved();
      continue;
    }
    const Patience::Step step = patience.next();
    has_poller_ = true;
    const int levels = has_threads ? BigLock::release_all() : 0;
    if (step == Patience::Step::poll) {
      os::pause();
    } else if (step == Patience::Step::yield) {
      sched_yield();
    } else {
      std::int64_t timeout_ns = patience.sleep_ns();
      if (!protocol.is_idle())
        timeout_ns = kSleepBusyNs;
      else if (has_threads)
        timeout_ns = kSleepThreadsNs;
      sleep(timeout_ns, levels);
    }
    if (has_threads) BigLock::reacquire(levels);
    has_poller_ = false;
    const bool is_held_back = reason && reason->is_held_back();
    const std::int64_t report_ns = (is_held_back ? held_back_report : wait_report).get() * 1'000'000'000;
    if (report_ns > 0 && patience.is_report_due(report_ns)) {
      char what[256] = "something";
      if (reason) reason->describe(what, sizeof what);
      log::warn("waiting for %d s for %s", patience.waited_s(), what);
    }
  }
  if (is_for_one_peer) is_answered_soon_ = !patience.has_given_way();
  if (watchers_ != 0) tell_watchers();  // somebody else has to poll now
}

/// Sleeps until a peer wakes us or the time is over.  The first transport that can sleep does it for all:
/// others are polled when the time is over.
void Engine::sleep(std::int64_t timeout_ns, int lock_levels) noexcept {
  for (transport::Transport* each : transports_) {
    if (!each->can_sleep()) continue;
    each->announce_sleep();
    // A message published before the announcement would wake nobody: look once more.
    BigLock::reacquire(lock_levels);
    const bool moved = poll();
    if (lock_levels > 0) BigLock::release_all();
    if (!moved) each->sleep(timeout_ns);
    each->withdraw_sleep();
    return;
  }
  timespec pause{0, long(std::min<std::int64_t>(timeout_ns, 50'000))};
  nanosleep(&pause, nullptr);
}

/// Sleeps until the polling thread has moved something.
void Engine::watch() noexcept {
  // relaxed: `moves_` changes only under the lock, which we hold here.
  const std::uint32_t seen = moves_.load(std::memory_order_relaxed);
  ++watchers_;
  const int levels = BigLock::release_all();
  const timespec limit{0, kSleepNsMin};  // net: the polling thread may have left without a move
  syscall(SYS_futex, &moves_, FUTEX_WAIT_PRIVATE, seen, &limit, nullptr, 0);
  BigLock::reacquire(levels);
  --watchers_;
}

void Engine::tell_watchers() noexcept {
  moves_.fetch_add(1, std::memory_order_relaxed);  // see watch: under the lock
  syscall(SYS_futex, &moves_, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace dunlin::progress
