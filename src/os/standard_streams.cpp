#include "os/standard_streams.hpp"

#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <initializer_list>

namespace dunlin::os {
namespace {

/// The kernel blocks a signal while its handler runs.  Threads that block signals for good are taken for
/// handlers, too: their output is lost, nothing else.
bool may_be_in_handler() noexcept {
  sigset_t blocked;
  if (::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0) return true;
  for (int signal = 1; signal < SIGRTMIN; ++signal)
    if (sigismember(&blocked, signal) == 1) return true;
  return false;
}

}  // namespace

void flush_standard_streams() noexcept {
  if (may_be_in_handler()) return;
  for (std::FILE* const stream : {stdout, stderr}) {
    if (::ftrylockfile(stream) != 0) continue;
    ::fflush_unlocked(stream);
    ::funlockfile(stream);
  }
}

}  // namespace dunlin::os
