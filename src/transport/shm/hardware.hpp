// What the lock-free structures of this folder need from the machine, as one type.
//
// ring.hpp, inbox.hpp and attention.hpp are templates over it, so that test/unit/transport can run the
// very same text on a model of the memory that tries all interleavings and store buffers (interleave.hpp
// there).
#pragma once

#include <atomic>
#include <cstdint>

#include "copy/copy.hpp"
#include "os/cpu.hpp"
#include "os/futex.hpp"
#include "os/membarrier.hpp"
#include "transport/shm/distance.hpp"

namespace dunlin::transport::shm {

struct Hardware {
  template <class T>
  using Atomic = std::atomic<T>;
  using Distance = shm::Distance;

  /// How often a reader that has seen the first line of a message looks for its last before it does other
  /// work.
  static constexpr int kPollsForRest = 100;
  static void pause() noexcept { os::pause(); }
  static void hand_over(const void* line) noexcept { os::hand_over(line); }
  static bool takes_over(std::size_t bytes) noexcept { return copy::takes_over(bytes); }
  /// Orders an earlier store before a later load in this thread.
  static void full_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
  /// Keeps the compiler from moving a later load before an earlier store; the processor may still do so.
  static void compiler_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static bool global_barrier() noexcept { return os::global_barrier(); }
  static void wait(const Atomic<std::uint32_t>& word, std::uint32_t value, std::int64_t timeout_ns) noexcept {
    os::futex_wait(word, value, timeout_ns);
  }
  static void wake(const Atomic<std::uint32_t>& word) noexcept { os::futex_wake(word, 1); }
};

static_assert(Hardware::Atomic<std::uint64_t>::is_always_lock_free &&
              sizeof(Hardware::Atomic<std::uint64_t>) == 8);

}  // namespace dunlin::transport::shm
