#include "base/big_lock.hpp"

#include "base/assert.hpp"

namespace dunlin {
namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
thread_local int levels_held = 0;  // 0: this thread does not hold the mutex

}  // namespace

void BigLock::acquire() noexcept {
  if (levels_held++ == 0) pthread_mutex_lock(&mutex);
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
    pthread_mutex_lock(&mutex);
    levels_held = levels;
  }
}

}  // namespace dunlin
