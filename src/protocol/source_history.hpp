// What a receiver has learnt about the send buffers of one peer: does the sender write them anew between two
// messages, and is it far away?
//
// A receiver that reads lines which another core wrote leaves them shared, and the next store of the sender
// to each of them has to call the copy back: 7 ns a line between distant cores, 7 us where writing 64 KiB
// takes half a microsecond.  Such buffers are better left alone: the sender writes into the receiver's
// buffer, or into the channel (docs/memory.md, "Fresh data").  Data that is not written anew is found in the
// receiver's own cache: there both sides copy. The receiver tells them apart by timing a short read within
// the buffer, now and then.  A buffer that it does not know and whose lines come slowly is in nobody's cache:
// it is copied around the caches.
//
// Used by shared_transfer.cpp and protocol/.  Thread safety: none; base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "copy/copy.hpp"

namespace dunlin::protocol {

/// How a message is copied.
enum class ShareWay : std::uint32_t {
  both,       // both sides take chunks
  streaming,  // both, around the caches
  sender,     // the sender takes all it can
  channel,    // not in place: by two copies through the channel
};

/// The instructions for a chunk.
constexpr copy::Hint hint_of(ShareWay way) noexcept {
  return way == ShareWay::sender      ? copy::Hint::to_peer
         : way == ShareWay::streaming ? copy::Hint::off_cache
                                      : copy::Hint::cached;
}

/// Where lines of a buffer came from: the own cache, a near core or cache, a distant core or memory.
enum class Origin : std::uint8_t { own, near, far };

/// Whether the sender writes a buffer anew before each message.
enum class Freshness : std::uint8_t { old, unknown, fresh };

class SourceHistory {
 public:
  /// How to copy `bytes` from the sender's buffer at `address`, which is mapped at `at`.  `is_asked`, here
  /// and below: the sender might have pushed the message, and asks what is better.
  ShareWay choose(std::uint64_t address, std::size_t bytes, const std::byte* at, bool is_asked) noexcept;
  /// To be called before the receiver copies, and where the sender copies, after it may have begun: looks at
  /// the buffer for the next time, where that is due: soon, where the sender asks.
  void learn(std::uint64_t address, std::size_t bytes, const std::byte* at, bool is_asked) noexcept;
  /// What is known of the buffer that `learn` saw last; `unknown` while a fresh one is being looked at again.
  Freshness freshness() const noexcept {
    if (!buffers_[0].is_fresh()) return Freshness::old;
    return buffers_[0].has_lines ? Freshness::unknown : Freshness::fresh;
  }
  /// Whether the lines of that buffer came from far away.
  bool is_distant() const noexcept { return buffers_[0].origin == Origin::far; }

  /// How long it takes to read a few lines of the `bytes` at `at`, at least kLookBytesMin.
  static std::int64_t time_look_ns(const std::byte* at, std::size_t bytes) noexcept;
  /// Shorter buffers are not looked at.
  static constexpr std::size_t kLookBytesMin = 8192;

 private:
  struct Buffer {
    std::uint64_t address = 0;
    std::uint32_t uses = 0;       // transfers so far
    int slow_looks = 0;           // how often its lines came slowly, one look after the other
    Origin origin = Origin::own;  // of the last look
    bool has_lines = false;       // the last look left lines in our cache: the next one can tell
    // Once may be chance: the sender was first, or somebody took the processor.
    bool is_fresh() const noexcept { return slow_looks >= 2; }
  };
  /// The buffer at `address`, moved to the front; a new one takes the place of the oldest.
  Buffer& find(std::uint64_t address) noexcept;

  static constexpr std::size_t kBuffers = 8;
  Buffer buffers_[kBuffers];  // most recently used first
};

}  // namespace dunlin::protocol
