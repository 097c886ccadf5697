#include "os/thread.hpp"

#include <signal.h>

namespace dunlin::os {

int start_thread(pthread_t* thread, void* (*run)(void*), void* argument) noexcept {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int reason = pthread_create(thread, nullptr, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return reason;
}

}  // namespace dunlin::os
