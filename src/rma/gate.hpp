// The gate before memory that its owner may freeze by a fork: whoever works on it from outside is inside or
// not, and the owner forks only while nobody is.  So no atomic is lost or done twice (docs/windows.md,
// "Fork").
//
// Entering costs a store and a load: the owner, who forks rarely, pays for the order of the two with a
// barrier on all CPUs (os/membarrier.hpp), or where that is refused the entering side with a fence.
// The word that is loaded, the owner's era, also tells whether anything has changed since it was looked up: a
// fork or a detachment (inquiry.cpp).  Loads alone can be done again: they look at it afterwards instead.
// The locks of elements are gates as well (is_unchanged below).
//
// Used by rma/operation.cpp and rma/shortcut.hpp (who enters) and rma/fork.cpp (the owner).
// Thread safety: between processes; in this one under base/big_lock.hpp.
#pragma once

#include <sched.h>

#include <atomic>

#include "rma/window.hpp"

namespace dunlin::rma {

/// For who only loads, and may do it again, and for who holds a lock of the target's elements: they need not
/// be inside.  Whether nothing has changed since the memory was looked up, to be asked after the loads, or
/// before anything is done under the lock (G10 in fork.cpp: the owner has held it since its gate closed).
[[gnu::always_inline]] inline bool is_unchanged(const Part& target) noexcept {
  // G9 (pairs with G6 in fork.cpp): the loads come before, so that who has met memory that the owner had left
  // sees another era.
  std::atomic_thread_fence(std::memory_order_acquire);
  return target.block->era.load(std::memory_order_relaxed) == target.era;
}

/// Keeps `target` from forking as long as this lives.
class Inside {
 public:
  /// Waits while the gate is closed.
  Inside(const Window& window, const Part& target) noexcept : target_(target) {
    while ((era_ = enter(target, window.can_barrier)) % 2 != 0) {
      leave(target);
      // A fork takes 0.1 to 3 ms (heap/arena_fork.cpp).  Relaxed: `enter` looks again.
      while (target.block->era.load(std::memory_order_relaxed) % 2 != 0) sched_yield();
    }
  }
  ~Inside() { leave(target_); }
  Inside(const Inside&) = delete;

  std::uint32_t era() const noexcept { return era_; }

  /// The same without an object, only in the era in which the memory was looked up, and only where all take
  /// part in barriers.  False: outside.
  [[gnu::always_inline]] static bool try_enter(const Part& target) noexcept {
    const bool is_same = enter(target, true) == target.era;
    if (!is_same) [[unlikely]]
      leave(target);
    return is_same;
  }
  [[gnu::always_inline]] static void leave(const Part& target) noexcept {
    // G4 (pairs with G3 in fork.cpp): what was done to the memory is done before.
    target.is_inside->store(0, std::memory_order_release);
  }

 private:
  [[gnu::always_inline]] static std::uint32_t enter(const Part& target, bool can_barrier) noexcept {
    // G5 (pairs with G6 in fork.cpp): either this sees the gate closed, or the owner sees us inside.
    target.is_inside->store(1, std::memory_order_relaxed);
    if (can_barrier)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    else
      std::atomic_thread_fence(std::memory_order_seq_cst);
    // G7 (pairs with G8 in fork.cpp): a gate that was opened again shows the memory of after the fork.
    return target.block->era.load(std::memory_order_acquire);
  }

  const Part& target_;
  std::uint32_t era_ = 0;
};

/// The owner's side: its gates close around every fork while `window` is watched (fork.cpp).
void watch_forks(Window& window) noexcept;
void forget_forks(Window& window) noexcept;

}  // namespace dunlin::rma
