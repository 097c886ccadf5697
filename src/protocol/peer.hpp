// One process that this one talks to: its channel, what waits to be sent to it, what it holds of ours.
//
// Scale: made at first contact; about 200 bytes.  A job of 10,000 nodes costs 8 bytes per rank in the table
// until then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "peer/peer_memory.hpp"
#include "protocol/copy_contest.hpp"
#include "protocol/layouts.hpp"
#include "protocol/push_history.hpp"
#include "protocol/requests.hpp"
#include "protocol/source_history.hpp"
#include "protocol/wire.hpp"
#include "transport/shm/transport.hpp"
#include "transport/transport.hpp"

namespace dunlin::protocol {

/// A control message that found no room; kept until it does.
struct PendingControl : Outgoing {
  explicit PendingControl(const Control& message) noexcept : Outgoing(true), control(message) {}
  const Control control;
};

/// First in, first out.
class OutgoingQueue {
 public:
  bool is_empty() const noexcept { return !first_; }
  Outgoing* first() const noexcept { return first_; }
  void push(Outgoing& message) noexcept {
    message.next_outgoing = nullptr;
    (last_ ? last_->next_outgoing : first_) = &message;
    last_ = &message;
  }
  void put_back(Outgoing& message) noexcept {
    message.next_outgoing = first_;
    first_ = &message;
    if (!last_) last_ = &message;
  }
  void remove(Outgoing& message) noexcept {
    Outgoing* before = nullptr;
    for (Outgoing* each = first_; each != &message; each = each->next_outgoing) before = each;
    (before ? before->next_outgoing : first_) = message.next_outgoing;
    if (last_ == &message) last_ = before;
  }

 private:
  Outgoing* first_ = nullptr;
  Outgoing* last_ = nullptr;
};

/// A message that comes in pieces (pieces.cpp), on its way into a receive, or into memory until one asks.
struct Arriving {
  ReceiveRequest* request;
  match::Unexpected* kept;
  std::uint64_t bytes;     // of the message
  std::uint64_t position;  // bytes that have come
};

struct Peer {
  transport::Channel* channel = nullptr;
  int index = 0;  // peer index
  // Only for a peer on this node: direct ways to and from the pair's rings, for messages of one line.
  transport::shm::Channel* shm = nullptr;          // the same as `channel`
  transport::shm::RingReader* incoming = nullptr;  // nullptr until it has sent enough to have a ring
  std::uint64_t short_bytes_end_now = 0;  // hot path: messages below this may go by `shm`; 0 as -1 below
  std::int64_t eager_bytes_max = 0;       // what the setting allows
  std::int64_t copied_bytes_max = 0;      // the same where the peer cannot read the buffer in place
  std::int64_t piece_bytes_max = 0;       // longer ones go in pieces
  std::int64_t long_piece_bytes_max = 0;  // pieces of messages longer than four such pieces
  std::int64_t eager_bytes_max_now = 0;   // hot path: always eager; -1 while sends wait or are held back
  PushHistory pushes;                     // of messages that may be pushed or offered
  bool is_held_back = false;              // it holds too much of ours unexpected: offer, do not push
  bool has_told_hold = false;             // we told it to hold back

  // Messages and control messages that found no room.  While there are any, everything queues behind them,
  // so that no message overtakes another, nor what this rank had to say before it (that a message has been
  // received: MPI_Bsend relies on it).  Data that the peer asked for is apart: it names its receive.
  OutgoingQueue outgoing;
  SendRequest* first_stream = nullptr;  // data asked for through the channel, or in pieces
  SendRequest* last_stream = nullptr;
  std::vector<Arriving> arriving;  // from it, oldest first; rarely more than one
  Peer* next_busy = nullptr;
  bool is_busy = false;

  std::unique_ptr<peer::PeerMemory> memory;  // direct access to its memory, or nullptr
  bool is_memory_known = false;                // `memory` was asked for
  SourceHistory sources;               // its send buffers that we have read
  CopyContest unmapped;                        // how to take what of it cannot be mapped
  PeerLayouts layouts;                         // of its types that are not contiguous

  static constexpr std::int64_t kReadBytesMin = 8 << 10;    // smaller ones are always pushed
  static constexpr std::int64_t kPlaceBytesMin = 16 << 10;  // and these never placed

  void update_eager_bytes_max_now() noexcept {
    const bool must_wait = !outgoing.is_empty() || is_held_back;
    eager_bytes_max_now = must_wait ? -1 : std::min(eager_bytes_max, kReadBytesMin - 1);
    const std::int64_t short_bytes_max =
        std::min<std::int64_t>(eager_bytes_max, transport::shm::Line::kFirstBytes);
    short_bytes_end_now = must_wait || !shm ? 0 : std::uint64_t(short_bytes_max + 1);
  }
  bool has_pending() const noexcept { return !outgoing.is_empty() || first_stream; }
  transport::Sent try_send(const transport::Envelope& envelope, std::span<const std::byte> head,
                           const Source& data) noexcept {
    return channel->try_send(envelope, head, data);
  }
  transport::Sent try_send(const Control& control) noexcept {
    transport::Envelope envelope;
    envelope.kind = transport::MessageKind::control;
    envelope.bytes = sizeof control;
    return channel->try_send(envelope, std::as_bytes(std::span(&control, 1)), {});
  }
};

}  // namespace dunlin::protocol
