// Windows over memory that a fork may freeze: their gates close before it and open behind it (gate.hpp), and
// what is frozen then needs the helper thread.
//
// The handlers run outside the heap's own (heap/arena_fork.cpp), because they are registered later: first the
// gates close, then the heap prepares; the parent's heap is whole again before they open.  `_Fork` runs no
// handlers; where a heap is preloaded it does the same (heap/arena.hpp).
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/big_lock.hpp"
#include "heap/heap.hpp"
#include "os/clock.hpp"
#include "rma/gate.hpp"

namespace dunlin::rma {
namespace {

/// Of this process.
struct Watched {
  std::mutex mutex;  // held while a fork is under way
  std::vector<Window*> windows;
  pthread_t maker;  // of the last one: it calls MPI where others do not
  sigset_t usually_blocked;  // signals, when it made the window
};
Watched& watched() noexcept {
  static Watched one;
  return one;
}

/// Nobody stays inside longer than a copy takes; who died there is not waited for.
constexpr std::int64_t kInsideNsMax = 10'000'000'000;

void close_gate(Window& window) noexcept {
  RankBlock& mine = window.own_block();
  Gate::close(mine.era);
  const std::int64_t end_ns = os::now_ns() + kInsideNsMax;
  for (const Part& each : window.parts) {
    // This process needs no gate to its own memory: it is behind another's, perhaps below the signal handler
    // that forks.
    if (!each.block || each.block == &mine) continue;
    while (Gate::is_anybody_inside(each.block->is_inside) && os::now_ns() < end_ns) sched_yield();
  }
  for (ShortLock& each : mine.elements.locks) {
    bool is_mine = each.try_lock();
    while (!is_mine && os::now_ns() < end_ns) {
      sched_yield();
      is_mine = each.try_lock();
    }
    if (is_mine) each.unlock();  // G10: whoever takes it from now on finds the gate closed
  }
}

void close_gates() noexcept {
  for (Window* each : watched().windows) close_gate(*each);
}

void open_gates() noexcept {
  for (Window* each : watched().windows) Gate::open(each->own_block().era);
  watched().mutex.unlock();
}

void before_fork() noexcept {
  watched().mutex.lock();
  close_gates();
}

bool try_before_direct_fork() noexcept {
  if (!watched().mutex.try_lock()) return false;
  close_gates();
  return true;
}

/// A signal handler has its signal blocked.
bool may_be_signal_handler() noexcept {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  const sigset_t& usually = watched().usually_blocked;
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&now, signal) == 1 && sigismember(&usually, signal) == 0) return true;
  return false;
}

/// Others reach frozen memory by messages, which are not to wait while this process computes.
void want_help_for_frozen() noexcept {
  // The call of MPI that a handler has interrupted goes on as if it were alone.
  if (may_be_signal_handler()) return;
  // Where no lock is needed another thread that forks may do so in the middle of a call of MPI.
  if (!BigLock::is_needed() && !pthread_equal(watched().maker, pthread_self())) return;
  const BigLock::Guard guard;
  const std::vector<Window*>& windows = watched().windows;
  const auto first =
      std::find_if(windows.begin(), windows.end(), [](Window* each) { return needs_help(*each); });
  if (first != windows.end()) want_help(**first);
}

void after_fork_in_parent() noexcept {
  open_gates();
  want_help_for_frozen();
}

/// The child does not have the segments.
void after_fork_in_child() noexcept {
  watched().windows.clear();
  watched().mutex.unlock();
}

}  // namespace

void watch_forks(Window& window) noexcept {
  static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)registered;  // fails only where memory is short: then a fork during an operation may spoil it
  // A signal handler may make such a fork: no thread is made behind it.
  static constexpr heap::AroundFork kDirect{&try_before_direct_fork, &open_gates, &after_fork_in_child};
  heap::face().watch_direct_forks(kDirect);
  const std::lock_guard hold(watched().mutex);
  watched().windows.push_back(&window);
  watched().maker = pthread_self();
  pthread_sigmask(SIG_SETMASK, nullptr, &watched().usually_blocked);
}

void forget_forks(Window& window) noexcept {
  const std::lock_guard hold(watched().mutex);
  std::erase(watched().windows, &window);
}

}  // namespace dunlin::rma
