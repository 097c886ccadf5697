// Which of a rank's send buffers had better be pushed to one peer than be read there: what the receiver said.
//
// The receiver sees whether a buffer is written anew before each message (protocol/source_history.hpp) and
// answers an offer that asks with a Verdict.  After "push" the next 64 messages from that buffer are pushed
// before one is offered again, then 128, up to 4096, so that asking costs nothing in the end.
//
// Used by protocol.cpp (sending).  Scale: 130 bytes a peer.  Thread safety: none; base/big_lock.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "protocol/wire.hpp"

namespace dunlin::protocol {

class PushHistory {
 public:
  /// Whether the next message from this buffer is to be pushed; counts it.
  bool try_use(const void* address) noexcept {
    Buffer* const buffer = find(address);
    if (!buffer || buffer->left == 0) return false;
    --buffer->left;
    return true;
  }

  void learn(const void* address, Verdict verdict) noexcept {
    if (verdict == Verdict::none) return;
    Buffer* buffer = find(address);
    if (!buffer) {
      if (verdict == Verdict::go_on) return;
      std::rotate(buffers_, buffers_ + kBuffers - 1, buffers_ + kBuffers);
      *(buffer = buffers_) = {address, 0, kFirst};
    }
    const bool is_slow = verdict == Verdict::push_instead;
    buffer->left = is_slow ? buffer->next : 0;
    buffer->next = is_slow ? std::min(2 * buffer->next, kMost) : kFirst;
  }

 private:
  static constexpr std::uint32_t kFirst = 64, kMost = 4096;
  static constexpr std::size_t kBuffers = 8;
  struct Buffer {
    const void* address = nullptr;
    std::uint32_t left = 0;       // so many more are pushed
    std::uint32_t next = kFirst;  // how many the next time that an offer turns out slow
  };
  Buffer* find(const void* address) noexcept {
    Buffer* const end = buffers_ + kBuffers;
    Buffer* const found =
        std::find_if(buffers_, end, [&](const Buffer& each) { return each.address == address; });
    return found == end ? nullptr : found;
  }

  Buffer buffers_[kBuffers];  // the one learnt last first
};

}  // namespace dunlin::protocol
