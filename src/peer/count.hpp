// A count of what a process did, for the notes at its end (DUNLIN_VERBOSE=1).
#pragma once

#include <atomic>
#include <cstdint>

namespace dunlin::peer {

/// Relaxed, and without a locked operation: threads may lose each other's counts.
class Count {
 public:
  void operator++() noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  unsigned long long get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

}  // namespace dunlin::peer
