#include "base/big_lock.hpp"

#include <atomic>

#include "base/assert.hpp"

namespace dunlin {
namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
thread_local int levels_held = 0;  // 0: this thread does not hold the mutex
std::atomic<int> wanting{0};       // threads that wait for it

/// Who has just given it up would mostly get it again before one that sleeps for it: `try_acquire` gives way.
/// Relaxed: a hint; the mutex orders what it protects.
void lock() noexcept {
  if (pthread_mutex_trylock(&mutex) == 0) [[likely]]
    return;
  wanting.fetch_add(1, std::memory_order_relaxed);
  pthread_mutex_lock(&mutex);
  wanting.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

void BigLock::acquire() noexcept {
  if (levels_held++ == 0) lock();
}

bool BigLock::try_acquire() noexcept {
  DUNLIN_ASSERT(levels_held == 0);
  if (wanting.load(std::memory_order_relaxed) > 0 || pthread_mutex_trylock(&mutex) != 0) return false;
  levels_held = 1;
  return true;
}

void BigLock::release() noexcept {
  DUNLIN_ASSERT(levels_held > 0);
  if (levels_held == 1 && before_release_) before_release_();
  if (--levels_held == 0) pthread_mutex_unlock(&mutex);
}

int BigLock::release_all() noexcept {
  const int levels = levels_held;
  if (levels > 0) {
    levels_held = 0;
    pthread_mutex_unlock(&mutex);
  }
  return levels;
}

void BigLock::reacquire(int levels) noexcept {
  if (levels > 0) {
    lock();
    levels_held = levels;
  }
}

}  // namespace dunlin
