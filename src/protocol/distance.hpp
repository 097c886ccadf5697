// Whether a line from a peer's cache comes slower than one from memory: the one property of a pair that
// changes who had better copy.  Where it does (two caches on different dies, or sockets), a sender that
// stores into the receiver's buffer is faster than a receiver that loads lines which were just written.
//
// It is found by comparing on the spot: now and then the receiver of a shared copy writes a few lines, and
// the sender times loads of them against loads of its own lines, flushed to memory.  No time is written down.
// The sender's answer goes with its offers, so that both sides use one value.  docs/memory.md,
// "Copying well".
//
// Thread safety: none; base/big_lock.hpp.  Cost: 16 loads, about 3 us, once in kCopiesBetween shared copies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dunlin::protocol {

class Distance {
 public:
  static constexpr std::size_t kLines = 8;
  static constexpr std::size_t kLineBytes =
      128;  // two lines: processors fetch the neighbour of one by the way

  bool is_far() const noexcept { return is_far_; }
  /// Counts an offer; whether its receiver is to write lines: the first time, and once in a while, because
  /// ranks move to other CPUs.
  bool asks_for_lines() noexcept { return offers_++ % kCopiesBetween == 0; }
  /// The receiver wrote `lines` a moment ago.
  void look(const std::byte* lines) noexcept;
  /// By the receiver, to its own lines.
  static void write_lines(std::byte* lines) noexcept;

 private:
  static constexpr std::uint32_t kCopiesBetween = 256;
  std::uint32_t offers_ = 0;
  bool is_far_ = false;
};

}  // namespace dunlin::protocol
