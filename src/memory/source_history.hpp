// What a receiver has learnt about the send buffers of one peer: does the sender write them anew between two
// messages, and is it far away?
//
// A receiver that reads lines which another core wrote leaves them shared, and the next store of the sender
// to each of them has to call the copy back: 7 ns a line between distant cores, 2 us where writing 64 KiB
// would take half of it.  Such buffers are better left to the sender, who writes into the receiver's
// (docs/memory.md, "Fresh data").  Data that is not written anew is found in the receiver's own cache: there
// both sides copy. The receiver tells them apart by timing a short read within the buffer, now and then.  A
// buffer that it does not know and whose lines come slowly is in nobody's cache: it is copied around the
// caches.
//
// Used by shared_transfer.cpp.  Thread safety: none; base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/copy.hpp"

namespace dunlin::memory {

/// How the two sides of a transfer copy.
enum class ShareWay : std::uint32_t {
  both,       // both take chunks
  streaming,  // both, around the caches
  sender,     // the sender takes all it can
};

/// The instructions for a chunk.
constexpr CopyHint hint_of(ShareWay way) noexcept {
  return way == ShareWay::sender      ? CopyHint::to_peer
         : way == ShareWay::streaming ? CopyHint::off_cache
                                      : CopyHint::cached;
}

class SourceHistory {
 public:
  /// How to copy `bytes` from the sender's buffer at `address`, which is mapped at `at`.
  ShareWay choose(std::uint64_t address, std::size_t bytes, const std::byte* at) noexcept;
  /// To be called once the sender may have begun: looks at the buffer for the next time, where that is due.
  void learn(std::uint64_t address, std::size_t bytes, const std::byte* at) noexcept;

  /// Bytes that a look reads.
  static constexpr std::size_t kProbeBytes = 4096;

 private:
  struct Buffer {
    std::uint64_t address = 0;
    std::uint32_t uses = 0;  // transfers so far
    int slow_looks = 0;      // how often its lines came slowly, one look after the other
    // Once may be chance: the sender was first, or somebody took the processor.
    bool is_slow() const noexcept { return slow_looks >= 2; }
  };
  /// The buffer at `address`, moved to the front; a new one takes the place of the oldest.
  Buffer& find(std::uint64_t address) noexcept;

  static constexpr std::size_t kBuffers = 8;
  Buffer buffers_[kBuffers];  // most recently used first
};

}  // namespace dunlin::memory
