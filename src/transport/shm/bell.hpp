// The word by which peers wake a process's helper thread (progress/helper.hpp), which sleeps apart from the
// threads of the program (attention.hpp): it is rung for what concerns it only.
//
// Thread safety: one sleeper; any number of ringers in any process.
// Invariant: whoever publishes a message and then rings has the sleeper see the message: it announces itself,
// looks once more, and only then sleeps.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/futex.hpp"

namespace dunlin::transport::shm {

struct alignas(64) Bell {
  enum : std::uint32_t { kNobody, kAwake, kAsleep };
  std::atomic<std::uint32_t> word;

  void ring() noexcept {
    // B1 (pairs with B2): the message before the load below; or the sleeper's look comes behind the message.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (word.load(std::memory_order_relaxed) != kAsleep) [[likely]]
      return;
    if (word.exchange(kAwake, std::memory_order_relaxed) == kAsleep) os::futex_wake(word, 1);
  }
  /// The sleeper: looks once more before `sleep`.
  void announce() noexcept { word.exchange(kAsleep, std::memory_order_seq_cst); }  // B2
  void sleep(std::int64_t timeout_ns) noexcept { os::futex_wait(word, kAsleep, timeout_ns); }
  /// There is no sleeper any more.
  void withdraw() noexcept { word.store(kNobody, std::memory_order_relaxed); }
};

}  // namespace dunlin::transport::shm
