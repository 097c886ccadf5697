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

/// Shared or exclusive, in the order of arrival.  Who finds it free pays one atomic instruction.  Who has to
/// wait sleeps as in any wait of the library (progress/engine.hpp), and is woken by whoever lets it in.
///
/// Invariants: 1. `next` - `served` are those who hold it or wait.  2. A ticket may go in exclusively when
/// `served` has come to it, that is when all before it have left; shared when `readers` has, that is when all
/// before it have left or are readers themselves.  Numbers wrap.
struct FairLock {
  static constexpr std::uint32_t kPlaces = 16;  // more who wait are all woken together

  std::atomic<std::uint32_t> next = 0;              // the next ticket
  std::atomic<std::uint32_t> served = 0;            // how many have left
  std::atomic<std::uint32_t> readers = 0;           // how many have left or are readers
  std::atomic<std::uint32_t> waiting = 0;           // how many have to be woken
  std::atomic<std::uint32_t> holder = 0;            // rank + 1 of who holds it exclusively; for reports only
  std::atomic<std::uint64_t> places[kPlaces] = {};  // who waits, by ticket: ticket << 32 | rank

  // Relaxed: the ticket orders nothing; may_enter does.
  std::uint32_t draw() noexcept { return next.fetch_add(1, std::memory_order_relaxed); }
  bool may_enter(std::uint32_t ticket, bool is_shared) const noexcept {
    // L1 (pairs with L2): what those before did to the window is seen.
    return (is_shared ? readers : served).load(std::memory_order_acquire) == ticket;
  }
  /// To be called once after `may_enter`, for this rank.  `wake(rank)` as below.
  template <class Wake>
  void enter(std::uint32_t ticket, bool is_shared, int rank, const Wake& wake) noexcept {
    if (!is_shared) return holder.store(std::uint32_t(rank) + 1, std::memory_order_relaxed);
    // Only who has this ticket writes now.  Release: the reader behind also sees what this one saw.
    readers.store(ticket + 1, std::memory_order_release);
    // Relaxed: a reader that is about to sleep has all CPUs pass a barrier before its last look
    // (transport/shm/attention.hpp), so it sees the store above or is seen here.
    if (waiting.load(std::memory_order_relaxed)) [[unlikely]]
      wake_next(wake);
  }
  /// `wake(rank)` wakes one who may go in now; `wake(kEverybody)` where it is not known who that is.
  template <class Wake>
  void leave(bool is_shared, const Wake& wake) noexcept {
    if (!is_shared) {
      holder.store(0, std::memory_order_relaxed);
      // Only the one exclusive holder writes `readers` now.
      readers.fetch_add(1, std::memory_order_release);  // L2 (pairs with L1)
    }
    served.fetch_add(1, std::memory_order_seq_cst);  // L2 (pairs with L1), and S1
    // S1 (pairs with S2): either this sees who waits, or that one sees that it need not.
    if (waiting.load(std::memory_order_seq_cst)) [[unlikely]]
      wake_next(wake);
  }

  /// From now on `rank` is woken when this ticket may enter; it looks once more before it sleeps.
  void announce(std::uint32_t ticket, int rank) noexcept {
    // Relaxed: S2 publishes it.
    places[ticket % kPlaces].store(std::uint64_t{ticket} << 32 | std::uint32_t(rank),
                                   std::memory_order_relaxed);
    waiting.fetch_add(1, std::memory_order_seq_cst);  // S2 (pairs with S1)
  }
  void withdraw() noexcept { waiting.fetch_sub(1, std::memory_order_relaxed); }  // only counts

  static constexpr int kEverybody = -1;

 private:
  /// Of the two tickets that may be let in: who goes in exclusively, who goes in as one more reader.
  template <class Wake>
  void wake_next(const Wake& wake) noexcept {
    const std::uint32_t first = served.load(std::memory_order_relaxed);
    const std::uint32_t reader = readers.load(std::memory_order_relaxed);
    wake_ticket(first, wake);
    if (reader != first) wake_ticket(reader, wake);
  }
  template <class Wake>
  void wake_ticket(std::uint32_t ticket, const Wake& wake) noexcept {
    const std::uint64_t place = places[ticket % kPlaces].load(std::memory_order_acquire);
    const auto lead = std::int32_t(std::uint32_t(place >> 32) - ticket);
    if (lead == 0) wake(int(std::uint32_t(place)));
    if (lead > 0) wake(kEverybody);  // one that came much later has taken its place
    // Else it was not announced yet, and looks once more when it has been.
  }
};

/// Held for microseconds: spins, then sleeps.
struct alignas(64) ShortLock {
  enum : std::uint32_t { kFree, kHeld, kAwaited };
  std::atomic<std::uint32_t> word = kFree;

  void lock() noexcept {
    std::uint32_t expected = kFree;
    // M1 (pairs with M2): the memory behind it is as the last holder left it.
    if (!word.compare_exchange_strong(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed))
        [[unlikely]]
      wait();
  }
  void unlock() noexcept {
    if (word.exchange(kFree, std::memory_order_release) == kAwaited) [[unlikely]]  // M2
      os::futex_wake(word, 1);
  }

 private:
  [[gnu::noinline]] void wait() noexcept {
    constexpr int kSpins = 100;
    for (int i = 0; i < kSpins; ++i) {
      os::pause();
      std::uint32_t expected = kFree;
      if (word.load(std::memory_order_relaxed) == kFree &&
          word.compare_exchange_weak(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed))
        return;
    }
    // The last holder wakes one sleeper, which leaves the word saying that there may be more.
    while (word.exchange(kAwaited, std::memory_order_acquire) != kFree)
      os::futex_wait(word, kAwaited, INT64_MAX);
  }
};

}  // namespace dunlin::rma
