// Holds the arena's lock for a scope; only arena*.cpp use it.
#pragma once

#include <pthread.h>

namespace dunlin::heap {

class ArenaLock {
 public:
  explicit ArenaLock(pthread_mutex_t& mutex) noexcept : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~ArenaLock() { pthread_mutex_unlock(&mutex_); }
  ArenaLock(const ArenaLock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace dunlin::heap
