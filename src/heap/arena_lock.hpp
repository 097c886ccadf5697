// Holds the arena's lock for a scope, or from the beginning of a fork to its end; only arena*.cpp and
// static_data.cpp use it.
#pragma once

#include <pthread.h>

#include <atomic>

namespace dunlin::heap {

class ArenaLock {
 public:
  explicit ArenaLock(pthread_mutex_t& mutex) noexcept : mutex_(mutex) { take(mutex_); }
  ~ArenaLock() { give(mutex_); }
  ArenaLock(const ArenaLock&) = delete;

  static void take(pthread_mutex_t& mutex) noexcept {
    is_near = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);  // with give: a handler sees it before and after
    pthread_mutex_lock(&mutex);
  }
  static bool try_take(pthread_mutex_t& mutex) noexcept {
    is_near = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);  // with give
    const bool is_taken = pthread_mutex_trylock(&mutex) == 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);  // as in give
    is_near = is_taken;
    return is_taken;
  }
  static void give(pthread_mutex_t& mutex) noexcept {
    pthread_mutex_unlock(&mutex);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // with take
    is_near = false;
  }

  /// Whether this thread has the lock, or is about to take or to give it: asked by a signal handler, which
  /// would wait for what it has interrupted.  There is one arena in a library.
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local bool is_near = false;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace dunlin::heap
