// Locks between processes, for the memory of a window: one that is fair within bounds, for MPI_Win_lock, and
// a short one for operations that no instruction of the processor does alone.
//
// Used by rma/passive.cpp and rma/accumulate.cpp; they lie in the window's segment (rma/segment.hpp).
// Source: J. M. Mellor-Crummey and M. L. Scott, "Scalable reader-writer synchronization for shared-memory
// multiprocessors", PPoPP 1991 (the ticket lock with readers; that nobody passes is theirs alone).
// Thread safety: shared between processes; every member may be called by any of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/cpu.hpp"
#include "os/futex.hpp"
#include "transport/shm/hardware.hpp"

namespace dunlin::rma {

/// Shared or exclusive.  Who finds it free takes it by one atomic instruction, also where others wait: they
/// sleep, and to let each in by turns is a switch of a CPU for every turn.  Of those who wait only the first
/// tries to get in, whenever it looks.  After `PassesMax` others it is kept for the first, and a look in vain
/// counts as a quarter of that: where it is held for long, few pass.  Both bounds were measured on Zen 3
/// (decision 0036).  Nobody joins readers while others wait.
///
/// All is in one word, so that whoever leaves sees whether somebody has to be woken:
///
///   how many wait | ticket of the first | passes | is there a writer? | readers
///        16                16               10             1             21 bits
///
/// A process waits for one of its origins elsewhere at a time (Incoming::try_let_in), so that at most 32,767
/// ranks of a node wait; readers are up to 2,097,151 of all nodes.  Such a ticket steps aside while that
/// process computes: it keeps its place in the queue, but where it is the first it is taken out.
///
/// Those behind the first look at another word, in a line of its own, which says whose turn it is: the first
/// word changes with every look of the first and with every other that passes, and each change would wait for
/// all who look.
///
/// Invariants: 1. There are readers, or there is a writer, or it is free.  2. Those who wait have the tickets
/// from the first one's on, in order of arrival; numbers wrap.  3. Whoever leaves it free wakes the first; a
/// reader that was the first wakes the next.  4. One ticket at most has stepped aside.  Whoever resets
/// `aside_` decides: the owner is back, or another takes it out and moves the first on.  5. Whoever moves the
/// first on says so in `turn_` before it leaves or wakes, and nobody moves it on again before that.
template <class M, std::uint64_t PassesMax = 512>
struct BasicFairLock {
  static constexpr std::uint32_t kPlaces = 16;  // more who wait are all woken together
  static constexpr int kEverybody = -1;

  template <class T>
  using Atomic = typename M::template Atomic<T>;

  /// Whether it was free, and this rank has it now.
  bool try_enter(bool is_shared, int rank) noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);  // a guess
    while (may_enter(seen, is_shared)) {
      const std::uint64_t taken = seen + (is_shared ? kReader : kWriter) + (seen >= kWaiting ? kPass : 0);
      // L1 (pairs with L2): what those before did to the window is seen.
      if (!word_.compare_exchange_strong(seen, taken, std::memory_order_acquire, std::memory_order_relaxed))
        continue;
      if (!is_shared) holder_.store(std::uint32_t(rank) + 1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }
  /// `wake(rank)` wakes one who may go in now; `wake(kEverybody)` where it is not known who that is.
  template <class Wake>
  void leave(bool is_shared, const Wake& wake) noexcept {
    const std::uint64_t mine = is_shared ? kReader : kWriter;
    // L2 (pairs with L1), and S1 (pairs with S2): either this sees who waits, or that one sees it free.
    const std::uint64_t left = word_.fetch_sub(mine, std::memory_order_seq_cst) - mine;
    if (left >= kWaiting && (left & kHeld) == 0) [[unlikely]]
      wake_first(left, wake);
  }

  // For who has to wait: draws a ticket, announces itself, tries until it is in; sleeps in between.
  std::uint32_t draw() noexcept {
    const std::uint64_t seen = word_.fetch_add(kWaiting, std::memory_order_relaxed);  // S2 publishes it
    return (first_of(seen) + std::uint32_t(seen / kWaiting)) % kTickets;
  }
  /// From now on `rank` is woken when this ticket may enter.
  void announce(std::uint32_t ticket, int rank) noexcept {
    // S2 (pairs with S1): before the next look at the word.
    places_[ticket % kPlaces].exchange(std::uint64_t{ticket} << 32 | std::uint32_t(rank),
                                       std::memory_order_seq_cst);
  }
  /// How many are before this ticket, about.
  std::uint32_t before(std::uint32_t ticket) const noexcept {
    return (ticket - first_of(word_.load(std::memory_order_relaxed))) % kTickets;
  }
  template <class Wake>
  bool try_enter_in_turn(std::uint32_t ticket, bool is_shared, int rank, const Wake& wake) noexcept {
    if (turn_.load(std::memory_order_seq_cst) != ticket) return false;  // S2 orders it; T1
    std::uint64_t seen = word_.load(std::memory_order_seq_cst);         // S2 orders it
    std::uint64_t changed;
    bool is_free;
    do {
      if (first_of(seen) != ticket) return false;
      is_free = (seen & (is_shared ? kWriter : kHeld)) == 0;
      if (!is_free && !is_open(seen)) return false;
      changed = is_free ? with_next_first(seen) + (is_shared ? kReader : kWriter) : seen + kLookInVain;
      // L1 and S1, as above.
    } while (
        !word_.compare_exchange_strong(seen, changed, std::memory_order_seq_cst, std::memory_order_relaxed));
    if (!is_free) return false;
    tell_first(first_of(changed));
    if (!is_shared) {
      holder_.store(std::uint32_t(rank) + 1, std::memory_order_relaxed);
      return true;
    }
    // The next may have come, and found that it is not its turn yet, before that was told.
    seen = word_.load(std::memory_order_seq_cst);
    if (seen >= kWaiting) wake_first(seen, wake);
    return true;
  }

  /// Nobody looks for this ticket for a while.  Not while another one has stepped aside.
  template <class Wake>
  void step_aside(std::uint32_t ticket, const Wake& wake) noexcept {
    // A1 (pairs with A2): either this sees that it is the first, or who makes it the first sees it aside.
    aside_.exchange(ticket + 1, std::memory_order_seq_cst);
    const std::uint64_t seen = word_.load(std::memory_order_seq_cst);
    if (first_of(seen) == ticket) wake_first(seen, wake);
  }
  /// Whether it still stands in the queue, and is looked for again; else its owner draws another.
  bool step_back(std::uint32_t ticket) noexcept {
    std::uint32_t expected = ticket + 1;
    // S2: before the next look at the word.
    return aside_.compare_exchange_strong(expected, 0, std::memory_order_seq_cst, std::memory_order_relaxed);
  }

  /// Rank + 1 of the writer, for reports; 0: there is none.
  std::uint32_t holder() const noexcept {
    const bool has_writer = word_.load(std::memory_order_relaxed) & kWriter;
    return has_writer ? holder_.load(std::memory_order_relaxed) : 0;
  }

 private:
  static constexpr std::uint64_t kReader = 1, kWriter = 1 << 21, kHeld = 2 * kWriter - 1;
  static constexpr std::uint64_t kPass = 2 * kWriter, kFirst = kPass << 10, kWaiting = kFirst << 16;
  static constexpr std::uint64_t kLookInVain = (PassesMax + 3) / 4 * kPass;
  static constexpr std::uint32_t kTickets = 1 << 16;
  static_assert(PassesMax * kPass + kLookInVain < kFirst);

  static std::uint32_t first_of(std::uint64_t seen) noexcept {
    return std::uint32_t(seen / kFirst) % kTickets;
  }
  /// One waits less, and nobody has passed the next one.
  static std::uint64_t with_next_first(std::uint64_t seen) noexcept {
    const std::uint64_t next = (first_of(seen) + 1) % kTickets;
    return (seen / kWaiting - 1) * kWaiting + next * kFirst + (seen & kHeld);
  }
  /// That this ticket is the first now.
  void tell_first(std::uint32_t ticket) noexcept {
    turn_.exchange(ticket, std::memory_order_seq_cst);  // T2 (pairs with T1)
  }
  /// Whether the first may be passed.
  static bool is_open(std::uint64_t seen) noexcept { return seen % kFirst < PassesMax * kPass; }
  /// Whether who comes now may go in.
  static bool may_enter(std::uint64_t seen, bool is_shared) noexcept {
    if (seen < kWaiting) [[likely]]
      return (seen & (is_shared ? kWriter : kHeld)) == 0;
    return (seen & kHeld) == 0 && is_open(seen);
  }
  /// Takes the first out of the queue, if it has stepped aside.
  bool try_pass_over(std::uint64_t& seen) noexcept {
    std::uint32_t ticket = first_of(seen) + 1;
    if (aside_.load(std::memory_order_seq_cst) != ticket) [[likely]]  // A2
      return false;
    // T1: who is about to say that it is the first looks again afterwards.
    if (turn_.load(std::memory_order_seq_cst) != first_of(seen)) return false;
    if (!aside_.compare_exchange_strong(ticket, 0, std::memory_order_seq_cst, std::memory_order_relaxed))
      return false;
    std::uint64_t changed;
    do changed = with_next_first(seen);
    while (
        !word_.compare_exchange_strong(seen, changed, std::memory_order_seq_cst, std::memory_order_relaxed));
    tell_first(first_of(changed));
    seen = word_.load(std::memory_order_seq_cst);  // another may have come and stepped aside before that
    return true;
  }
  template <class Wake>
  void wake_first(std::uint64_t seen, const Wake& wake) noexcept {
    while (try_pass_over(seen))
      if (seen < kWaiting) return;
    const std::uint32_t ticket = first_of(seen);
    const std::uint64_t place = places_[ticket % kPlaces].load(std::memory_order_seq_cst);
    // It may not be announced yet, or another of its place was announced after it, of either ticket.
    wake(std::uint32_t(place >> 32) == ticket ? int(std::uint32_t(place)) : kEverybody);
  }

  Atomic<std::uint64_t> word_{};
  Atomic<std::uint32_t> holder_{};           // rank + 1 of the last writer
  Atomic<std::uint32_t> aside_{};            // the ticket that has stepped aside, + 1; 0: none
  Atomic<std::uint64_t> places_[kPlaces]{};  // who waits, by ticket: ticket << 32 | rank
  alignas(64) Atomic<std::uint32_t> turn_{};  // the ticket of the first, for all behind it
};
using FairLock = BasicFairLock<transport::shm::Hardware>;

/// Held for microseconds: spins, then sleeps.
struct alignas(64) ShortLock {
  enum : std::uint32_t { kFree, kHeld, kAwaited };
  std::atomic<std::uint32_t> word = kFree;

  bool try_lock() noexcept {
    std::uint32_t expected = kFree;
    // M1 (pairs with M2): the memory behind it is as the last holder left it.
    return word.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                        std::memory_order_relaxed);
  }
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
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
