// How a wait sleeps until the network has news: in `poll` on its descriptor, or elsewhere with a thread that
// waits for the descriptor in its place.
//
// Used by ofi::Transport.  A wait sleeps at one place; where that is shared memory, a futex and a descriptor
// cannot be waited for by one call, so a thread sleeps here meanwhile and ends the other sleep
// (docs/decisions/0012). Thread safety: `wake` by any thread; the others under base/big_lock.hpp, but for
// `sleep`, which only the thread that announced calls. Invariants: 1. The thread calls `wake` of the other
// place once for each `watch` that finds news.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "transport/transport.hpp"

namespace dunlin::transport::ofi {

class Sleeper {
 public:
  explicit Sleeper(int news_fd) noexcept;
  ~Sleeper();
  Sleeper(const Sleeper&) = delete;

  bool can_sleep() const noexcept { return news_fd_ >= 0 && wake_fd_ >= 0; }
  void sleep(std::int64_t timeout_ns) noexcept;
  /// Ends a sleep, or the next one.
  void wake() noexcept;
  /// Forgets that.
  void clear() noexcept;
  /// News of the network end the sleep in `place`, from now until there are some.  False: no thread to do it.
  bool try_watch(transport::Transport& place) noexcept;
  /// Ends that thread, which another watch makes anew.
  void end_watch() noexcept;

 private:
  static void* run(void* sleeper) noexcept;
  void watch_for_ever() noexcept;

  enum State : std::uint32_t { kIdle, kWatching, kEnding };
  const int news_fd_;
  int wake_fd_;
  std::atomic<bool> is_woken_{false};
  pthread_t thread_ = {};
  bool has_thread_ = false;
  std::atomic<std::uint32_t> state_{kIdle};            // futex of the thread
  std::atomic<transport::Transport*> place_{nullptr};  // whose sleep the thread ends
};

}  // namespace dunlin::transport::ofi
