#include "os/standard_streams.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

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

/// What gfortran's runtime library holds back, where the program has it.  A thread of its own asks for it,
/// because the program may have called from a PRINT statement, which holds its unit.
void flush_fortran_units() noexcept {
  using Flush = void(const int* unit);  // a null pointer: all
  void* const found = ::dlsym(RTLD_DEFAULT, "_gfortran_flush_i4");
  if (!found) return;
  const auto flush = [](void* function) -> void* {
    reinterpret_cast<Flush*>(function)(nullptr);
    return nullptr;
  };
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, flush, found) != 0) return;
  timespec until;
  ::clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  ::pthread_timedjoin_np(thread, nullptr, &until);
}

}  // namespace

void flush_standard_streams() noexcept {
  if (may_be_in_handler()) return;
  for (std::FILE* const stream : {stdout, stderr}) {
    if (::ftrylockfile(stream) != 0) continue;
    ::fflush_unlocked(stream);
    ::funlockfile(stream);
  }
  flush_fortran_units();
}

}  // namespace dunlin::os
