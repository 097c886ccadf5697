// What the two sides of a shared copy write: who copies which chunk, and how far each side is.
//
// A transfer lies in a pool in the region of the rank that sends (segment.hpp) and is named by its index in
// an offer.  A message's bytes are cut into chunks; the receiver claims them from the front, the sender from
// the back, and each side counts what it has copied.  All is copied when the two counts add up: nobody says
// so. Called by protocol/shared_copy.cpp.  docs/memory.md, "Copying well".
//
// Thread safety: one sender, one receiver, in different processes.
// Invariants:
//  1. Every word carries the number of the slot's use, so that whoever is late finds another number and
//  leaves
//     the words alone: claiming is a compare-and-swap, not an addition.
//  2. A chunk is claimed once; only its claimer writes its bytes, and only before it counts it.
//  3. The sender begins the next use only when the counts have added up unspoilt, or the receiver said by a
//     message that it will not touch the transfer any more.  So a newer number tells the receiver "all
//     copied".
//  4. `buffer` is written by the receiver before its first word of that use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "transport/shm/hardware.hpp"

namespace dunlin::transport::shm {

enum class CopySide : std::uint8_t { sender, receiver };

/// Where a receiver waits, in its own addresses.
struct TransferBuffer {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;   // room, packed
  std::uint64_t layout = 0;  // protocol::PublishedLayout; 0: contiguous
};

/// How far one side is.
struct CopyProgress {
  std::uint32_t use = 0;
  std::uint16_t chunks = 0;  // copied by this side
  bool is_spoilt = false;    // some of them to or from memory that had changed its backing
  bool is_writable = false;  // the receiver's: `buffer` may be written by the sender
  bool can_copy = false;     // the receiver's: it can copy by itself
};

struct ClaimedChunks {
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // 0: none was free
};

template <class M>
class BasicTransfer {
 public:
  static constexpr std::uint32_t kChunksMax = 0xffff;

  /// The sender, before the offer leaves: publishing that publishes these words, too.
  void begin(std::uint32_t use) noexcept {
    sent_.store(pack({.use = use}), std::memory_order_relaxed);
    claims_.store(std::uint64_t{use} << 32, std::memory_order_relaxed);
  }

  /// The receiver, as soon as it knows that it will `meet` and claim: both lines are on their way then.
  void fetch() const noexcept {
    __builtin_prefetch(&claims_, 1);
    __builtin_prefetch(&received_, 1);
  }

  /// The receiver, once the message has met its receive.
  void meet(const CopyProgress& start, const TransferBuffer& buffer) noexcept {
    buffer_ = buffer;
    // M1 (pairs with M2 in progress): the sender finds the buffer once it sees the number of this use.
    received_.store(pack(start), std::memory_order_release);
  }
  const TransferBuffer& buffer() const noexcept { return buffer_; }

  /// Relaxed: a claim that this misses is seen the next time.
  bool has_free(std::uint32_t use, std::uint32_t chunks) const noexcept {
    const std::uint64_t word = claims_.load(std::memory_order_relaxed);
    return std::uint32_t(word >> 32) == use && (word >> 16 & 0xffff) + (word & 0xffff) < chunks;
  }

  /// Up to `wanted` of `chunks` chunks for one side.  Relaxed: claims say who copies, not what is there; the
  /// source is published by the offer, the destination by `meet`, the copied bytes by `count`.
  ClaimedChunks try_claim(CopySide side, std::uint32_t use, std::uint32_t chunks,
                          std::uint32_t wanted) noexcept {
    DUNLIN_ASSERT(chunks >= 1 && chunks <= kChunksMax);
    std::uint64_t word = claims_.load(std::memory_order_relaxed);
    while (std::uint32_t(word >> 32) == use) {
      const auto front = std::uint32_t(word >> 16 & 0xffff), back = std::uint32_t(word & 0xffff);
      DUNLIN_ASSERT(front + back <= chunks);
      const std::uint32_t taken = std::min(wanted, chunks - front - back);
      if (taken == 0) break;
      const bool is_front = side == CopySide::receiver;
      const std::uint64_t claimed = word + (is_front ? std::uint64_t{taken} << 16 : taken);
      if (claims_.compare_exchange_strong(word, claimed, std::memory_order_relaxed,
                                          std::memory_order_relaxed))
        return {is_front ? front : chunks - back - taken, taken};
    }
    return {};
  }

  /// One side says how far it is.
  void count(CopySide side, const CopyProgress& progress) noexcept {
    // C1 (pairs with M2): who sees the count sees the chunks' bytes, and has no claim on their source any
    // more.
    word_of(side).store(pack(progress), std::memory_order_release);
  }
  /// How far one side is, of whatever use.
  CopyProgress progress(CopySide side) const noexcept {
    // M2 (pairs with M1 and C1).
    return unpack(word_of(side).load(std::memory_order_acquire));
  }

 private:
  using Word = typename M::template Atomic<std::uint64_t>;
  static constexpr std::uint64_t kSpoilt = 1u << 16, kWritable = 1u << 17, kCanCopy = 1u << 18;

  static std::uint64_t pack(const CopyProgress& progress) noexcept {
    return std::uint64_t{progress.use} << 32 | progress.chunks | (progress.is_spoilt ? kSpoilt : 0) |
           (progress.is_writable ? kWritable : 0) | (progress.can_copy ? kCanCopy : 0);
  }
  static CopyProgress unpack(std::uint64_t word) noexcept {
    return {std::uint32_t(word >> 32), std::uint16_t(word), (word & kSpoilt) != 0, (word & kWritable) != 0,
            (word & kCanCopy) != 0};
  }
  Word& word_of(CopySide side) noexcept { return side == CopySide::sender ? sent_ : received_; }
  const Word& word_of(CopySide side) const noexcept { return side == CopySide::sender ? sent_ : received_; }

  // The sender's line.
  alignas(64) Word claims_;  // use:32 | front:16 | back:16; both sides
  Word sent_;                // sender
  // The receiver's line.
  alignas(64) Word received_;  // receiver
  TransferBuffer buffer_;      // receiver
};

using Transfer = BasicTransfer<Hardware>;
static_assert(sizeof(Transfer) == 128);

/// Of a rank, under way at once.
constexpr std::size_t kTransfers = 512;

}  // namespace dunlin::transport::shm
