// The word by which a rank that shares CPUs with others tells its peers whether it runs at this moment, as
// far as it knows: a rank that waits for one that does not run gives its CPU away at once, and polls for one
// that does (progress/engine.cpp).
//
// Thread safety: one writer, the process; any number of readers.  All accesses are relaxed: it is a hint.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace dunlin::transport::shm {

struct alignas(64) Presence {
  std::atomic<std::uint32_t> place;  // the CPU it runs on, from 1; 0: it has given it away, or tells nothing

  void leave() noexcept { place.store(0, std::memory_order_relaxed); }
  void come() noexcept { place.store(std::uint32_t(sched_getcpu() + 1), std::memory_order_relaxed); }
  /// Whether this process runs, on another CPU than who asks.
  bool is_beside(const Presence& other) const noexcept {
    const std::uint32_t here = place.load(std::memory_order_relaxed);
    return here != 0 && here != other.place.load(std::memory_order_relaxed);
  }
};

}  // namespace dunlin::transport::shm
