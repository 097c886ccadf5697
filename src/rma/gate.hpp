// The gate before memory that its owner may freeze by a fork: whoever works on it from outside is inside or
// not, and the owner forks only while nobody is.  So no atomic is lost or done twice (docs/windows.md,
// "Fork").
//
// Entering costs a store and a load: the owner, who forks rarely, pays for the order of the two with a
// barrier on all CPUs (os/membarrier.hpp), or where that is refused the entering side with a fence.
// The word that is loaded, the owner's era, also tells whether anything has changed since it was looked up: a
// fork or a detachment (inquiry.cpp).  Loads alone can be done again: they look at it afterwards instead.  (A
// store can not: who polls the word may have seen it, and have stored its answer there.)  The locks of
// elements are gates, too (`is_unchanged`).
//
// Used by rma/operation.cpp and rma/shortcut.hpp (who enters) and rma/fork.cpp (the owner).
// Thread safety: between processes; in this one under base/big_lock.hpp.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "rma/window.hpp"
#include "transport/shm/hardware.hpp"

namespace dunlin::rma {

/// What both sides do to the owner's era and to the word of another rank that says that it is inside, which
/// it finds in a `Target`.  A template, so that test/unit/transport/gate_interleavings.cpp runs it on a model
/// of the processor.
template <class M, class Target>
struct BasicGate {
  using Word = typename M::template Atomic<std::uint32_t>;

  /// The era: odd: the gate is closed.  Without `can_barrier` somebody takes part in no barriers.
  [[gnu::always_inline]] static std::uint32_t enter(const Target& target, bool can_barrier) noexcept {
    // G5 (pairs with G6): either this sees the gate closed, or the owner sees us inside.
    target.is_inside->store(1, std::memory_order_relaxed);
    if (can_barrier)
      M::compiler_fence();
    else
      M::full_fence();
    // G7 (pairs with G8): a gate that was opened again shows the memory of after the fork.
    return target.block->era.load(std::memory_order_acquire);
  }
  [[gnu::always_inline]] static void leave(const Target& target) noexcept {
    // G4 (pairs with G3): what was done to the memory is done before.
    target.is_inside->store(0, std::memory_order_release);
  }

  /// For who only loads, and may do it again, and for who holds a lock of the owner's elements: they need not
  /// be inside.  Whether nothing has changed since the memory was looked up, to be asked after the loads, or
  /// before anything is done under the lock (G10 in fork.cpp: the owner has held it since its gate closed).
  [[gnu::always_inline]] static bool is_unchanged(const Target& target) noexcept {
    // G9 (pairs with G6): the loads come before, so that who has met memory that the owner had left sees
    // another era.
    std::atomic_thread_fence(std::memory_order_acquire);
    return target.block->era.load(std::memory_order_relaxed) == target.era;
  }

  /// The owner's side; then it waits until nobody is inside, and may fork.
  static void close(Word& era) noexcept {
    era.fetch_add(1, std::memory_order_seq_cst);
    // G6 (pairs with G5 and G9): the store above comes before the loads of `is_anybody_inside` and before
    // the fork, and so it does for those that enter.
    if (!M::global_barrier()) M::full_fence();
  }
  static bool is_anybody_inside(const Word& is_inside) noexcept {
    return is_inside.load(std::memory_order_acquire) != 0;  // G3 (pairs with G4)
  }
  static void open(Word& era) noexcept {
    // G8 (pairs with G7): the heap's new generation comes before.
    era.fetch_add(1, std::memory_order_release);
  }
};
using Gate = BasicGate<transport::shm::Hardware, Part>;

/// Keeps `target` from forking as long as this lives.
class Inside {
 public:
  /// Waits while the gate is closed.
  Inside(const Window& window, const Part& target) noexcept : target_(target) {
    while ((era_ = Gate::enter(target, window.can_barrier)) % 2 != 0) {
      Gate::leave(target);
      // A fork takes 0.1 to 3 ms (heap/arena_fork.cpp).  Relaxed: `enter` looks again.
      while (target.block->era.load(std::memory_order_relaxed) % 2 != 0) sched_yield();
    }
  }
  ~Inside() { Gate::leave(target_); }
  Inside(const Inside&) = delete;

  std::uint32_t era() const noexcept { return era_; }

  /// The same without an object, only in the era in which the memory was looked up, and only where all take
  /// part in barriers.  False: outside.
  [[gnu::always_inline]] static bool try_enter(const Part& target) noexcept {
    const bool is_same = Gate::enter(target, true) == target.era;
    if (!is_same) [[unlikely]]
      Gate::leave(target);
    return is_same;
  }

 private:
  const Part& target_;
  std::uint32_t era_ = 0;
};

/// The owner's side: its gates close around every fork while `window` is watched (fork.cpp).
void watch_forks(Window& window) noexcept;
void forget_forks(Window& window) noexcept;

}  // namespace dunlin::rma
