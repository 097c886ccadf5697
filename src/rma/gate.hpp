// The gate before memory that its owner may freeze by a fork: whoever works on it from outside is inside or
// not, and the owner forks only while nobody is.  So no atomic is lost or done twice (docs/windows.md,
// "Fork").
//
// Entering costs a store and a load: the owner, who forks rarely, pays for the order of the two with a
// barrier on all processors (os/membarrier.hpp), or where that is refused the entering side with a fence.
//
// Used by rma/operation.cpp (Inside) and rma/fork.cpp (the owner).
// Thread safety: between processes; in this one under base/big_lock.hpp.
#pragma once

#include <sched.h>

#include <atomic>

#include "rma/window.hpp"

namespace dunlin::rma {

/// Keeps `target` from forking as long as this lives.
class Inside {
 public:
  Inside(Window& window, int target) noexcept : mine_(window.segment.block(window.comm->rank)) {
    const RankBlock& theirs = window.segment.block(target);
    while (!try_enter(theirs, window.can_barrier)) {
      // A fork takes 0.1 to 3 ms (heap/arena_fork.cpp).  Relaxed: try_enter looks again.
      while (theirs.is_closed.load(std::memory_order_relaxed)) sched_yield();
    }
  }
  ~Inside() {
    // G4 (pairs with G3 in fork.cpp): what was done to the memory is done before.
    mine_.is_inside.store(0, std::memory_order_release);
  }
  Inside(const Inside&) = delete;

 private:
  bool try_enter(const RankBlock& theirs, bool can_barrier) noexcept {
    // G5 (pairs with G6 in fork.cpp): either this sees the gate closed, or the owner sees us inside.
    mine_.is_inside.store(1, std::memory_order_relaxed);
    if (can_barrier)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    else
      std::atomic_thread_fence(std::memory_order_seq_cst);
    // G7 (pairs with G8 in fork.cpp): a gate that was opened again shows the memory of after the fork.
    if (theirs.is_closed.load(std::memory_order_acquire) == 0) return true;
    mine_.is_inside.store(0, std::memory_order_release);
    return false;
  }
  RankBlock& mine_;
};

/// The owner's side: its gates close around every fork while `window` is watched (fork.cpp).
void watch_forks(Window& window) noexcept;
void forget_forks(Window& window) noexcept;

}  // namespace dunlin::rma
