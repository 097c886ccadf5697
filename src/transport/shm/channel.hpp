// The sending side of one pair of ranks on a node.
//
// The first messages of a pair (DUNLIN_SHM_INBOX_MESSAGES) go through the receiver's inbox (inbox.hpp).
// Then, or when a message does not fit a cell, or no cell is free, the sender puts a promotion cell into
// the inbox as its last word there and uses the pair's ring (ring.hpp).  The receiver starts to read the
// ring when it meets that cell: so the order of the two ways is kept by construction.  Promotion cells
// are reserved per pair; promoting always succeeds.
//
// hot path: try_send of up to 40 bytes in one run, data or a protocol header: about 45 instructions, one line
// written, two of our own read. Called by protocol/.  Thread safety: as transport.hpp.
#pragma once

#include <algorithm>

#include "os/cpu.hpp"
#include "transport/shm/segment.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::shm {

/// What the channels of one process share.
struct SenderState {
  const Segment& segment;
  CellPool cells;
  int me;                     // local rank
  bool must_fence;            // this process takes no part in global barriers
  bool wants_room = false;    // a ring was full since we slept last
  Attention always_wanted{};  // never 0: what the hot path looks at when must_fence
  copy::LinesToTakeBack to_take_back{};  // while nothing else is to be done
  AllRings rings{std::max<std::uint64_t>(2 * os::cache_bytes(2), 1 << 20)};
};

class Channel final : public transport::Channel {
 public:
  Channel(SenderState& sender, int receiver) noexcept;

  Sent try_send(const Envelope& envelope, std::span<const std::byte> head,
                const Source& data) noexcept override {
    const bool is_one_run = head.empty() ? data.is_contiguous() : data.bytes == 0;
    if (envelope.bytes <= Line::kFirstBytes && is_one_run && ring_.has_room()) [[likely]] {
      ring_.write_short(envelope, head.empty() ? data.address : head.data());
      wake();
      return Sent::yes;
    }
    return try_send_slow(envelope, head, data);
  }

  /// hot path: as try_send for a contiguous eager message of one line, about 30 instructions; false: nothing
  /// was sent, and try_send knows why.
  [[gnu::always_inline]] bool try_send_short(const Envelope& envelope, const std::byte* data) noexcept {
    DUNLIN_ASSERT(envelope.bytes <= Line::kFirstBytes);
    if (!ring_.has_room()) [[unlikely]]
      return false;
    ring_.write_short(envelope, data);
    wake();
    return true;
  }

  /// Rings the receiver's attention as a message does: for who has changed something in shared memory that it
  /// waits for.  A load when the receiver is awake.
  void wake() noexcept {
    if (watched_->is_wanted()) [[unlikely]]
      attend();
  }

  /// What this process writes next, as it seems, and the receiver has read: in place of what was said before.
  void take_back_later(std::span<const std::byte> lines) noexcept {
    sender_.to_take_back = copy::LinesToTakeBack(lines);
  }

  std::size_t bytes_max() const noexcept override { return bytes_max_; }
  /// Of a message that others of the same data follow.
  std::size_t piece_bytes_max() const noexcept { return piece_bytes_max_; }

  /// Whether the receiver's cache is about as far as memory (distance.hpp).
  bool is_far() const noexcept { return ring_.is_far(); }
  /// Others who load what the receiver has just stored may time that, too.
  Distance& distance() noexcept { return ring_.distance(); }

 private:
  [[gnu::noinline]] Sent try_send_slow(const Envelope& envelope, std::span<const std::byte> head,
                                       const Source& data) noexcept;
  bool try_send_by_inbox(const Envelope& envelope, std::span<const std::byte> head,
                         const Source& data) noexcept;
  void promote() noexcept;
  [[gnu::noinline]] void attend() noexcept;

  RingWriter ring_;          // has no room until we are promoted
  Attention* watched_;       // the receiver's, or one that is always wanted
  int inbox_messages_left_;  // until we promote
  bool is_promoted_ = false;
  const int receiver_;  // local rank
  SenderState& sender_;
  const std::size_t bytes_max_, piece_bytes_max_;
};

}  // namespace dunlin::transport::shm
