// Locks between processes, for the memory of a window: one that is fair, for MPI_Win_lock, and a short one
// for operations that no instruction of the processor does alone.
//
// Used by rma/passive.cpp and rma/accumulate.cpp; they lie in the window's segment (rma/segment.hpp).
// Source: J. M. Mellor-Crummey and M. L. Scott, "Scalable reader-writer synchronization for shared-memory
// multiprocessors", PPoPP 1991 (the ticket lock with readers).
// Thread safety: shared between processes; every member may be called by any of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/cpu.hpp"
#include "os/futex.hpp"

namespace dunlin::rma {

/// Shared or exclusive, in the order of arrival.  Who finds it free pays one atomic instruction.
///
/// Invariants: 1. `next` - `served` are those who hold it or wait.  2. A ticket may go in exclusively when
/// `served` has come to it, that is when all before it have left; shared when `readers` has, that is when all
/// before it have left or are readers themselves.  Numbers wrap.
struct FairLock {
  std::atomic<std::uint32_t> next = 0;     // the next ticket
  std::atomic<std::uint32_t> served = 0;   // how many have left; futex
  std::atomic<std::uint32_t> readers = 0;  // how many have left or are readers; futex
  std::atomic<std::uint32_t> sleepers = 0;
  std::atomic<std::uint32_t> holder = 0;  // rank + 1 of who holds it exclusively; for reports only

  // Relaxed: the ticket orders nothing; may_enter does.
  std::uint32_t draw() noexcept { return next.fetch_add(1, std::memory_order_relaxed); }
  bool may_enter(std::uint32_t ticket, bool is_shared) const noexcept {
    // L1 (pairs with L2): what those before did to the window is seen.
    return (is_shared ? readers : served).load(std::memory_order_acquire) == ticket;
  }
  /// To be called once after `may_enter`.
  void enter(std::uint32_t ticket, bool is_shared) noexcept {
    if (!is_shared) return;
    // Only who has this ticket writes now.  Release: the reader behind also sees what this one saw.
    readers.store(ticket + 1, std::memory_order_release);
    // Relaxed: a reader that falls asleep at this very moment is woken by the time it gave itself.
    if (sleepers.load(std::memory_order_relaxed)) [[unlikely]]
      os::futex_wake(readers, INT32_MAX);
  }
  void leave(bool is_shared) noexcept {
    // Only the one exclusive holder writes `readers` now.
    if (!is_shared) readers.fetch_add(1, std::memory_order_release);  // L2 (pairs with L1)
    served.fetch_add(1, std::memory_order_seq_cst);                   // L2 (pairs with L1), and S1
    // S1 (pairs with S2): either this sees the sleeper, or the sleeper sees that it need not sleep.
    if (sleepers.load(std::memory_order_seq_cst) == 0) [[likely]]
      return;
    os::futex_wake(served, INT32_MAX);
    os::futex_wake(readers, INT32_MAX);
  }
  /// Sleeps until it may be that `ticket` may enter, at most `timeout_ns`.
  void sleep(std::uint32_t ticket, bool is_shared, std::int64_t timeout_ns) noexcept {
    std::atomic<std::uint32_t>& word = is_shared ? readers : served;
    sleepers.fetch_add(1, std::memory_order_seq_cst);  // S2 (pairs with S1)
    const std::uint32_t now = word.load(std::memory_order_seq_cst);
    if (now != ticket) os::futex_wait(word, now, timeout_ns);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
};

/// Held for microseconds: spins, then sleeps.
struct ShortLock {
  enum : std::uint32_t { kFree, kHeld, kAwaited };
  std::atomic<std::uint32_t> word = kFree;

  void lock() noexcept {
    constexpr int kSpins = 100;
    constexpr std::int64_t kSleepNs = 10'000'000;
    for (int i = 0; i < kSpins; ++i) {
      std::uint32_t expected = kFree;
      // M1 (pairs with M2): the memory behind it is as the last holder left it.
      if (word.compare_exchange_weak(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed))
        return;
      os::pause();
    }
    while (word.exchange(kAwaited, std::memory_order_acquire) != kFree)
      os::futex_wait(word, kAwaited, kSleepNs);
  }
  void unlock() noexcept {
    if (word.exchange(kFree, std::memory_order_release) == kAwaited) os::futex_wake(word, 1);  // M2
  }
};

}  // namespace dunlin::rma
