// What a fork freezes of the memory around windows needs the helper thread.
//
// Memory in windows stays in its pages (heap::Kept), and who has it mapped goes on.  Who comes new finds it
// frozen, and reaches it by messages, which are not to wait while its owner computes.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/big_lock.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {
namespace {

/// Of the last window.
struct Maker {
  pthread_t thread;  // calls MPI where others do not
  sigset_t blocked;  // signals
  pid_t process;
};
Maker maker;

/// A signal handler has its signal blocked.
bool may_be_signal_handler() noexcept {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&now, signal) == 1 && sigismember(&maker.blocked, signal) == 0) return true;
  return false;
}

void after_fork_in_parent() noexcept {
  if (getpid() != maker.process) return;  // a child that forks: it is no rank
  // The call of MPI that a handler has interrupted goes on as if it were alone.
  if (may_be_signal_handler()) return;
  // Where no lock is needed another thread that forks may do so in the middle of a call of MPI.
  if (!BigLock::is_needed() && !pthread_equal(maker.thread, pthread_self())) return;
  const BigLock::Guard guard;
  const std::vector<Window*>& windows = all_windows();
  const auto first =
      std::find_if(windows.begin(), windows.end(), [](Window* each) { return needs_help(*each); });
  if (first != windows.end()) want_help(**first);
}

}  // namespace

void watch_forks() noexcept {
  maker.thread = pthread_self();
  pthread_sigmask(SIG_SETMASK, nullptr, &maker.blocked);
  maker.process = getpid();
  static const int registered = pthread_atfork(nullptr, after_fork_in_parent, nullptr);
  (void)registered;  // fails only where memory is short: then messages wait for a call of this process
}

}  // namespace dunlin::rma
