// The word by which a process asks its peers for more than a plain message: to be woken, or to ring a
// doorbell.
//
// A sender that has published a message loads this word of the receiver and is done when it is 0.  Who
// sleeps pays for the order between "message published" and "asleep announced": it makes all processes of
// the node pass a memory barrier (9 us) before it looks for messages one last time, so that senders need
// none (27 ns a message).
//
// Called by channel.cpp (senders), transport.cpp (receiver).  Measurements: docs/shm.md.
//
// Thread safety: one receiver; any number of senders.
// Invariants:
//  1. `kSleeping` is set by the receiver only, and cleared by it or by the one waker that then wakes it.
//  2. After `announce` every message is found by the receiver's next poll, or its sender sees kSleeping.
//     With `wants_room` the same holds for room in the rings that the sleeper writes, and their readers.
//  3. A sender that takes no part in barriers, or whose receiver cannot have them, fences before it loads.
#pragma once

#include <cstdint>

#include "transport/shm/hardware.hpp"

namespace dunlin::transport::shm {

template <class M>
struct alignas(64) BasicAttention {
  static constexpr std::uint32_t kSleeping = 1;   // wake me
  static constexpr std::uint32_t kDoorbells = 2;  // tell me which ring has news
  static constexpr std::uint32_t kFence = 4;      // order your message before you look here
  static constexpr std::uint32_t kWantsRoom = 8;  // wake me when you return room of a ring that I write

  typename M::template Atomic<std::uint32_t> word;

  /// hot path: for a sender, after its message is published: whether the receiver wants more.  A plain
  /// load that the processor may do before the message is visible: the barrier in `announce` makes that
  /// harmless.
  bool is_wanted() const noexcept {
    M::compiler_fence();
    return word.load(std::memory_order_relaxed) != 0;
  }

  /// The rest, when is_wanted().  `ring_doorbell` publishes the doorbell when the receiver reads doorbells.
  /// `must_fence`: this sender takes no part in barriers; it comes here after every message.
  template <class RingDoorbell>
  void attend(bool must_fence, RingDoorbell&& ring_doorbell) noexcept {
    std::uint32_t wanted = word.load(std::memory_order_relaxed);
    if (wanted & kDoorbells) {
      ring_doorbell();
      M::compiler_fence();
      wanted = word.load(std::memory_order_relaxed);  // S1: only now: a sleeper looked at doorbells, too
    }
    if (must_fence || (wanted & kFence)) {
      M::full_fence();
      wanted = word.load(std::memory_order_relaxed);
    }
    if (wanted & kSleeping) wake();
  }
  /// For senders, and for other threads of the receiver's process.  Relaxed: the wake-up itself orders what
  /// the sleeper sees; of several wakers one gets the bit.
  void wake() noexcept {
    if (word.fetch_and(~kSleeping, std::memory_order_relaxed) & kSleeping) M::wake(word);
  }

  /// For a reader that has returned room to the writer who sleeps here.
  void room_returned(bool must_fence) noexcept {
    M::compiler_fence();
    std::uint32_t wanted = word.load(std::memory_order_relaxed);
    if (must_fence || (wanted & kFence)) {
      M::full_fence();
      wanted = word.load(std::memory_order_relaxed);
    }
    if (wanted & kWantsRoom) wake();
  }

  /// Receiver: from now on a message wakes us, and with `wants_room` room in a ring that was full, too; try
  /// both once more before `sleep`.
  void announce(bool wants_room = false) noexcept {
    const std::uint32_t bits = wants_room ? kSleeping | kWantsRoom : kSleeping;
    word.fetch_or(bits, std::memory_order_seq_cst);  // S2: also our own barrier
    order_against_senders();
  }
  /// Receiver: from now on senders ring doorbells; what they sent before is found by polling all rings once.
  void ask_for_doorbells() noexcept {
    word.fetch_or(kDoorbells, std::memory_order_seq_cst);
    order_against_senders();
  }
  void sleep(std::int64_t timeout_ns) noexcept {
    const std::uint32_t value = word.load(std::memory_order_relaxed);  // the kernel compares it again
    if (value & kSleeping) M::wait(word, value, timeout_ns);
  }
  void withdraw() noexcept { word.fetch_and(~(kSleeping | kWantsRoom), std::memory_order_relaxed); }

  void ask_for_fences() noexcept { word.fetch_or(kFence, std::memory_order_seq_cst); }

 private:
  void order_against_senders() noexcept {
    // Refused here but not at open (a sandbox entered since): fences from now on.  A message whose sender
    // loaded the word just before is found late, when the time-out of the sleep ends.
    if (!(word.load(std::memory_order_relaxed) & kFence) && !M::global_barrier()) ask_for_fences();
  }
};

using Attention = BasicAttention<Hardware>;
static_assert(sizeof(Attention) == 64);

}  // namespace dunlin::transport::shm
