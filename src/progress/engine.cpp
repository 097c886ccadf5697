#include "progress/engine.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/big_lock.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/futex.hpp"
#include "os/time_slice.hpp"
#include "progress/helper.hpp"
#include "transport/shm/transport.hpp"

namespace dunlin::progress {
namespace {

// Defaults measured by docs/decisions/0008 and 0034 (2 CPUs of an AMD EPYC; where ranks share CPUs: of an
// Intel Xeon; Linux 6.18).
IntVariable spin_polls{"SPIN_POLLS", 2000, "polls",
                       "how often a wait polls before it offers the CPU to others", 0};
IntVariable spin_polls_shared{"SPIN_POLLS_SHARED", 1, "polls",
                              "DUNLIN_SPIN_POLLS where ranks share CPUs (more ranks than CPUs)", 0};
IntVariable spin_polls_beside{"SPIN_POLLS_BESIDE", 40, "polls",
                              "where ranks share CPUs: how often a wait for one peer polls while that peer "
                              "runs on another CPU",
                              0};
IntVariable yield_us{"YIELD_US", 1000, "us",
                     "how long a wait that has polled gives the CPU away between polls before it sleeps", 0};
IntVariable yield_us_shared{"YIELD_US_SHARED", 200, "us", "DUNLIN_YIELD_US where ranks share CPUs", 0};
IntVariable slice_us_shared{"SLICE_US_SHARED", 100, "us",
                            "where ranks share CPUs: how long the kernel lets a rank run at a stretch while "
                            "others are ready (100 to 100000; Linux 6.12); 0: as the system has it",
                            0};
IntVariable direct_polls{
    "DIRECT_POLLS",
    100,
    "polls",
    "how often a blocking receive looks at its sender's ring alone before it looks at all rings",
    1,
    1 << 20};
IntVariable nap_us{"NAP_US", 50, "us",
                   "how long a wait sleeps at most where messages may come that wake nobody", 1};

constexpr std::int64_t kSleepNsMin = 5'000'000;  // net under a lost wake-up; doubles up to
constexpr std::int64_t kSleepNsMax = 100'000'000;

}  // namespace

/// A thread inside a wait; on its stack.
struct Engine::Waiter {
  const Done done;
  const void* const argument;
  LongWait long_wait;
  Waiter* next = nullptr;
  std::atomic<std::uint32_t> is_called{0};  // futex; written under the lock
};

/// How a wait spends its time while nothing moves: polls, then yields, then sleeps; starts over when
/// something moved.
class Engine::Patience {
 public:
  enum class Step : std::uint8_t { poll, yield, sleep };

  Patience(std::int64_t polls_max, std::int64_t yield_us_max) noexcept
      : polls_max_(polls_max), yield_ns_max_(yield_us_max * 1000) {}

  /// `polls_more`: so often at least.
  Step next(std::int64_t polls_more) noexcept {
    if (polls_++ < std::max(polls_max_, polls_more)) return Step::poll;
    const std::int64_t now = os::now_ns();
    if (idle_since_ == 0) idle_since_ = now;
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

 private:
  const std::int64_t polls_max_, yield_ns_max_;
  std::int64_t polls_ = 0;
  std::int64_t idle_since_ = 0;  // ns; 0: not looked yet
  std::int64_t sleep_ns_ = kSleepNsMin;
};

bool Engine::poll() noexcept {
  int messages = 0;
  for (transport::Transport* each : transports_) messages += each->poll(messaging_);
  bool moved = messages != 0;
  moved |= messaging_.advance();
  if (parked_) [[unlikely]]
    moved |= poll_parked();
  if (waiters_) [[unlikely]]  // flags in shared memory go up without a message
    wake_finished();
  return moved;
}

namespace {

void explain_request(const void* request, WaitReason& reason) noexcept {
  static_cast<const Request*>(request)->explain(reason);
}

}  // namespace

void Engine::poll_for_test(const Request& request) noexcept { poll_for_test(&request, &explain_request); }

void Engine::poll_for_test(const void* argument, LongWait::Explain explain) noexcept {
  const bool has_moved = poll();
  if (LongWait::is_asked_for_tests()) [[unlikely]]
    LongWait::tested(has_moved, explain, argument);
  if (has_moved)
    fruitless_tests_ = 0;
  else if (is_oversubscribed_) [[unlikely]]
    test_shared();
}

Engine::Help Engine::help() noexcept {
  has_refused_help_ = poller_ != nullptr;
  if (poller_) return Help::none;
  if (poll()) return Help::moved;
  return help_expected_ > 0 ? Help::idle : Help::none;
}

transport::shm::Bell* Engine::bell() const noexcept {
  const transport::shm::Transport* const shm = messaging_.peers.shared_memory();
  return shm ? &shm->bell(messaging_.me()) : nullptr;
}

void Engine::wait(const Request& request, int from) noexcept {
  if (from >= 0) {
    if (!request.is_complete) transports_.front()->poll_peer(from, messaging_);
    if (request.is_complete) [[likely]]
      return end_named_receive();
  }
  constexpr Done kIsComplete = [](const void* waited) noexcept {
    return static_cast<const Request*>(waited)->is_complete;
  };
  if (!request.is_complete) wait_slow(kIsComplete, &request, &explain_request, from);
}

void Engine::wait_until(Done done, const void* argument, LongWait::Explain explain, int peer) noexcept {
  DUNLIN_ASSERT(done != nullptr);
  if (!done(argument)) wait_slow(done, argument, explain, peer);
}

void Engine::wait_for_turn(Done done, const void* argument, LongWait::Explain explain) noexcept {
  DUNLIN_ASSERT(done != nullptr);
  if (!done(argument)) wait_slow(done, argument, explain, -1, true);
}

/// It was satisfied by its sender's ring alone, or by a message that had come before.
void Engine::end_named_receive() noexcept {
  if (!messaging_.named_receives.are_used_up()) [[likely]]
    return messaging_.named_receives.use();
  (void)poll();
  all_polled();
}

void Engine::poll_alone(Pollable& work) noexcept {
  DUNLIN_ASSERT(work.is_parked_);
  Pollable** link = &parked_;
  while (*link != &work) link = &(*link)->next_;
  *link = work.next_;
  work.is_parked_ = false;
  for (int polls = polls_direct(); polls > 0; --polls) {
    if (work.poll() == Pollable::Outcome::finished) return end_direct();
    rest();
  }
  add(work);
}

int Engine::polls_direct() const noexcept { return is_oversubscribed_ ? 1 : int(direct_polls.get()); }

void Engine::set_oversubscribed(bool oversubscribed) noexcept {
  is_oversubscribed_ = oversubscribed;
  // Who yields loses the rest of its slice to whoever else is ready, be it a loop of another program.
  if (oversubscribed && slice_us_shared.get() > 0)
    (void)os::try_shorten_time_slice(slice_us_shared.get() * 1000);
  messaging_.set_polls_direct(polls_direct());
  messaging_.set_have_own_cpus(!oversubscribed);
}

/// How often at least a wait for that peer polls.  Where ranks share CPUs, polling takes the CPU from the
/// rank that is awaited, unless that one runs at this moment on another CPU: then its answer comes within a
/// poll or forty, and both go on without a switch (a switch costs as much as ten messages).
std::int64_t Engine::polls_for(int peer) const noexcept {
  const transport::shm::Presence* const mine = presence();
  if (!mine || peer < 0) return 0;
  const transport::shm::Transport& shm = *messaging_.peers.shared_memory();
  return shm.is_on_node(peer) && shm.presence(peer).is_beside(*mine) ? spin_polls_beside.get() : 0;
}

transport::shm::Presence* Engine::presence() const noexcept {
  const transport::shm::Transport* const shm = messaging_.peers.shared_memory();
  return is_oversubscribed_ && shm ? &shm->presence(messaging_.me()) : nullptr;
}

template <class GiveWay>
void Engine::away(GiveWay give_way) noexcept {
  transport::shm::Presence* const mine = presence();
  if (mine) mine->leave();
  give_way();
  if (mine) mine->come();
}

void Engine::rest() noexcept {
  if (transport::shm::Transport* const shm = messaging_.peers.shared_memory())
    shm->rest();
  else
    os::pause();
}

void Engine::give_way() noexcept { away(&sched_yield); }

bool Engine::poll_parked() noexcept {
  // An operator of the program's, which work has called, may call MPI.
  if (is_polling_parked_) [[unlikely]]
    return false;
  // Work may add work while it is polled: the list is taken off first, what stays is put back.
  is_polling_parked_ = true;
  bool moved = false;
  Pollable* each = parked_;
  parked_ = nullptr;
  while (each) {
    Pollable* const next = each->next_;
    each->is_parked_ = false;  // now: one that finishes may be gone afterwards
    const Pollable::Outcome outcome = each->poll();
    moved |= outcome != Pollable::Outcome::idle;
    if (outcome != Pollable::Outcome::finished) add(*each);
    each = next;
  }
  is_polling_parked_ = false;
  return moved;
}

void Engine::wait_slow(Done done, const void* argument, LongWait::Explain explain, int peer,
                       bool is_for_turn) noexcept {
  const bool has_threads = BigLock::is_needed();
  // Each yield of those that stand in a queue is a switch more in every message of the one whose turn it is.
  const bool sleeps_at_once = is_for_turn && is_oversubscribed_;
  Patience patience(is_oversubscribed_ ? spin_polls_shared.get() : spin_polls.get(),
                    sleeps_at_once       ? 0
                    : is_oversubscribed_ ? yield_us_shared.get()
                                         : yield_us.get());
  Waiter me{done, argument, {explain, argument}};
  if (has_threads) join(me);
  ++waiting_;
  while (!done(argument)) {
    if (has_threads) {
      if (poller_ && poller_ != &me) {
        watch(me);
        slept(me);
        continue;
      }
      poller_ = &me;
    }
    const bool has_moved = poll();
    me.long_wait.polled(has_moved);
    const std::uint64_t begun = messaging_.begun();
    if (std::exchange(begun_seen_, begun) != begun || has_moved) {
      patience.moved();
      continue;
    }
    const Patience::Step step = patience.next(polls_for(peer));
    if (step == Patience::Step::poll && !has_threads) {
      rest();
      continue;
    }
    const int levels = has_threads ? BigLock::release_all() : 0;
    if (step == Patience::Step::poll) {
      os::pause();
    } else if (step == Patience::Step::yield) {
      give_way();
    } else {
      sleep(me, patience.sleep_ns(), levels);
    }
    if (has_threads) BigLock::reacquire(levels);
    is_asleep_ = false;
    if (step == Patience::Step::sleep) slept(me);
  }
  all_polled();
  end_wait();
  if (has_threads) leave(me);
}

/// A wait for a rank that the network has lost ends only with the job.
void Engine::slept(Waiter& me) const noexcept {
  me.long_wait.slept();
  for (const transport::Transport* each : transports_)
    for (const int lost : each->lost())
      if (const WaitReason reason = me.long_wait.reason(); reason.peer == lost)
        log::end_job("this rank waits for %s of rank %d of the job, which the network has lost", reason.what,
                     lost);
}

bool Engine::is_attended() const noexcept { return waiting_ > 0 || Helper::is_there(); }

void Engine::end_wait() noexcept {
  --waiting_;
  if (!parked_ || is_attended()) [[likely]]
    return;
  for (Pollable* each = parked_; each; each = each->next_) each->left_alone();
}

/// Sleeps until a peer or another thread wakes us or the time is over.  We sleep in one transport: another
/// one that has news ends that sleep, or we look at it soon (docs/decisions/0012).
void Engine::sleep(Waiter& me, std::int64_t timeout_ns, int lock_levels) noexcept {
  transport::Transport* place = nullptr;
  for (transport::Transport* each : transports_) {
    const bool wakes =
        place ? each->announce_sleep_in(*place) : (each->announce_sleep(), !each->must_be_polled());
    if (!wakes) timeout_ns = std::min(timeout_ns, nap_us.get() * 1000);
    if (each->can_sleep() && !place) place = each;
  }
  // Nothing but the clock wakes for parked work then.
  if (!place && parked_) timeout_ns = std::min(timeout_ns, nap_us.get() * 1000);
  // A message published before the announcement would wake nobody: look once more.
  BigLock::reacquire(lock_levels);
  messaging_.rendezvous.lose_patience();
  const bool moved = poll() || me.done(me.argument) || messaging_.begun() != begun_seen_;
  if (moved) me.long_wait.moved();
  me.is_called.store(0, std::memory_order_relaxed);  // as in watch
  is_asleep_ = true;
  asleep_in_ = place;
  if (lock_levels > 0) BigLock::release_all();
  away([&]() noexcept {
    if (!moved && place)
      place->sleep(timeout_ns);
    else if (!moved)
      os::futex_wait(me.is_called, 0, timeout_ns);
  });
  for (transport::Transport* each : transports_) each->withdraw_sleep();
}

/// After a round in which nothing moved, or in place of one.
void Engine::all_polled() noexcept {
  if (!parked_ && !messaging_.needs_polls()) messaging_.named_receives.renew();
}

void Engine::test_shared() noexcept {
  if (++fruitless_tests_ < spin_polls_shared.get()) return;
  fruitless_tests_ = 0;
  const int levels = BigLock::is_needed() ? BigLock::release_all() : 0;
  give_way();
  BigLock::reacquire(levels);
  (void)poll();  // what came meanwhile
}

/// The calling thread is about to wait.
void Engine::join(Waiter& me) noexcept {
  DUNLIN_ASSERT(BigLock::is_needed());
  DUNLIN_ASSERT(me.next == nullptr);
  if (!waiters_) BigLock::set_before_release(&before_release);
  wake_finished();  // by what this call has done so far
  me.next = waiters_;
  waiters_ = &me;
}

/// Its wait is over.
void Engine::leave(Waiter& me) noexcept {
  Waiter** link = &waiters_;
  while (*link != &me) {
    DUNLIN_ASSERT(*link != nullptr);
    link = &(*link)->next;
  }
  *link = me.next;
  if (poller_ == &me) poller_ = nullptr;
  // This thread need not have seen what it was rung for: a poll takes a few messages of each ring.
  if (!poller_ && std::exchange(has_refused_help_, false)) Helper::ring();
  if (!waiters_)
    BigLock::set_before_release(nullptr);
  else if (!poller_)
    wake(*waiters_);
}

/// Sleeps until called.
void Engine::watch(Waiter& me) noexcept {
  DUNLIN_ASSERT(BigLock::is_needed());
  me.is_called.store(0, std::memory_order_relaxed);  // relaxed: under the lock; the futex compares it again
  const int levels = BigLock::release_all();
  DUNLIN_ASSERT(levels > 0);
  os::futex_wait(me.is_called, 0, kSleepNsMax);
  BigLock::reacquire(levels);
}

void Engine::wake(Waiter& waiter) noexcept {
  if (&waiter == poller_) {
    if (!is_asleep_) return;
    if (asleep_in_) return asleep_in_->wake();
  }
  if (waiter.is_called.exchange(1, std::memory_order_relaxed) == 0) os::futex_wake(waiter.is_called, 1);
}

/// Wakes the threads whose waits are over, and the sleeping poller where there is something for it to do.
void Engine::wake_finished() noexcept {
  for (Waiter* each = waiters_; each; each = each->next)
    if (each->done(each->argument)) wake(*each);
  if (is_asleep_ && messaging_.begun() != begun_seen_) wake(*poller_);
}

/// The end of every call while threads wait.  Parked work goes on here where the poller sleeps.
void Engine::before_release() noexcept {
  Engine* const engine = of_process_;
  if (!engine) return;
  if (engine->is_asleep_ && engine->parked_) (void)engine->poll_parked();
  engine->wake_finished();
}

}  // namespace dunlin::progress
