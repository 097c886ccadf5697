// Making peers, and what is done when a channel is full (peers.hpp).
#include "protocol/peers.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "protocol/choose.hpp"
#include "protocol/limits.hpp"

namespace dunlin::protocol {
namespace {

/// A control message that found no room; kept until it does.
class PendingControl final : public Outgoing {
 public:
  PendingControl(Peer& peer, const Control& control) noexcept : peer_(peer), control_(control) {}
  transport::Sent try_go() noexcept override {
    const transport::Sent sent = peer_.try_send(control_);
    if (sent == transport::Sent::yes) delete this;
    return sent;
  }
  void go_nowhere() noexcept override { delete this; }

 private:
  ~PendingControl() = default;
  Peer& peer_;
  const Control control_;
};

/// The next chunks of the data that a receiver asked for, until all are out (`yes`) or there is no room.
transport::Sent try_stream(Peer& peer, SendRequest& request) noexcept {
  const std::size_t most =
      (peer.shm ? peer.shm->piece_bytes_max() : peer.channel->bytes_max()) - sizeof(Control);
  while (request.streamed < request.wanted) {
    const Control control{.kind = ControlKind::chunk, .a = request.receiver_cookie, .b = request.streamed};
    Source chunk = request.data;
    chunk.bytes = std::min<std::uint64_t>(most, request.wanted - request.streamed);
    if (chunk.is_contiguous())
      chunk.address += request.streamed;
    else
      chunk.position += request.streamed;
    const transport::Sent sent = peer.try_send(control, chunk);
    if (sent != transport::Sent::yes) return sent;
    request.streamed += chunk.bytes;
  }
  return transport::Sent::yes;
}

}  // namespace

transport::Sent Peer::try_send(const Control& control, const Source& data) noexcept {
  transport::Envelope envelope;
  envelope.kind = transport::MessageKind::control;
  envelope.bytes = std::uint32_t(sizeof control + data.bytes);
  return channel->try_send(envelope, std::as_bytes(std::span(&control, 1)), data);
}

void Peer::update_eager_bytes_max_now() noexcept {
  // Nothing is copied from buffer to buffer between nodes.
  eager_bytes_max_now = certain_bytes_max(eager_bytes_max, shm ? shared_bytes.get() : INT64_MAX, must_wait());
  const std::int64_t line = std::min<std::int64_t>(eager_bytes_max_now, transport::shm::Line::kFirstBytes);
  short_bytes_end_now = shm ? std::uint64_t(line + 1) : 0;
}

Peers::~Peers() {
  for (Peer* peer : table_) delete peer;
}

Peer& Peers::make(int index) noexcept {
  DUNLIN_ASSERT(index >= 0);
  DUNLIN_ASSERT(std::size_t(index) < table_.size());
  auto* const peer = table_[std::size_t(index)] = new Peer;
  peer->index = index;
  if (shm_) peer->channel = peer->shm = shm_->connect(index);
  for (transport::Transport* each : transports_)
    if (!peer->channel) peer->channel = each->connect(index);
  if (!peer->channel)
    log::die(
        "no transport reaches rank %d from rank %d; are they on the same machine? (dunlin-info --transport)",
        index, me_);
  DUNLIN_ASSERT(peer->channel->bytes_max() >= sizeof(Control) + 8);
  peer->remote = peer->channel->remote_access();
  const auto most = std::int64_t(peer->channel->bytes_max() - sizeof(std::uint64_t));
  peer->eager_bytes_max = carries_messages_ ? std::min(eager_bytes.get(), most) : -1;
  peer->update_eager_bytes_max_now();
  return *peer;
}

peer::PeerMemory* Peers::memory_of(Peer& peer) noexcept {
  const bool can_ask = memories_ && peer.index != me_;
  if (!peer.is_memory_known && can_ask && memories_->has_published(peer.index)) {
    peer.is_memory_known = true;
    peer.memory = memories_->connect(peer.index);
  }
  return peer.memory.get();
}

void Peers::enqueue(Peer& peer, Outgoing& message) noexcept {
  peer.outgoing.push(message);
  peer.update_eager_bytes_max_now();
  mark_busy(peer);
}

void Peers::send_control(Peer& peer, const Control& control) noexcept {
  // A peer that failed needs no control messages.
  if (peer.outgoing.is_empty() && peer.try_send(control) != transport::Sent::full) return;
  enqueue(peer, *new PendingControl(peer, control));
}

void Peers::send_flow_control(Peer& peer) noexcept {
  Flow& flow = peer.flow;
  const Control control =
      carries_messages_ ? Control{.kind = peer.has_told_hold ? ControlKind::hold : ControlKind::resume}
                        : Control{.kind = ControlKind::released, .number = flow.answer, .a = flow.untold};
  const bool is_owed = peer.try_send(control) == transport::Sent::full;
  if (std::exchange(peer.owes_flow_control, is_owed) < is_owed) mark_busy(peer);  // one that owed is busy
  if (is_owed) return;
  flow.untold = 0;
  flow.answer = 0;
}

void Peers::stream(SendRequest& request) noexcept {
  Peer& peer = *request.peer;
  request.next_stream = nullptr;
  (peer.last_stream ? peer.last_stream->next_stream : peer.first_stream) = &request;
  peer.last_stream = &request;
  mark_busy(peer);
}

void Peers::mark_busy(Peer& peer) noexcept {
  ++begun_to_wait_;
  if (!peer.is_busy) link_busy(peer);
}

void Peers::link_busy(Peer& peer) noexcept {
  peer.is_busy = true;
  peer.next_busy = busy_;
  busy_ = &peer;
}

bool Peers::flush_busy() noexcept {
  // Whatever leaves may bring others to wait (a message to oneself is delivered at once): they begin a new
  // list.
  bool moved = false;
  Peer* peer = busy_;
  busy_ = nullptr;
  while (peer) {
    Peer* const next = peer->next_busy;
    peer->is_busy = false;
    moved |= flush(*peer);
    if (peer->has_pending() && !peer->is_busy) link_busy(*peer);
    peer = next;
  }
  return moved;
}

/// Flow control, then what waits for room, in order, then data.
bool Peers::flush(Peer& peer) noexcept {
  bool moved = false;
  if (peer.owes_flow_control) {
    send_flow_control(peer);
    moved = !peer.owes_flow_control;
  }
  if (peer.outgoing.has_several()) peer.channel->begin_batch();
  while (Outgoing* const first = peer.outgoing.pop()) {
    const transport::Sent sent = first->try_go();
    if (sent == transport::Sent::full) {
      peer.outgoing.put_back(*first);
      break;
    }
    if (sent == transport::Sent::failed) first->go_nowhere();
    moved = true;
  }
  const bool had_batch = std::exchange(peer.has_batch, !peer.channel->try_end_batch());
  moved |= had_batch && !peer.has_batch;
  peer.update_eager_bytes_max_now();
  moved |= flush_streams(peer);
  return moved;
}

bool Peers::flush_streams(Peer& peer) noexcept {
  bool moved = false;
  while (SendRequest* const first = peer.first_stream) {
    const std::uint64_t before = first->streamed;
    const transport::Sent sent = try_stream(peer, *first);
    moved |= sent != transport::Sent::full || first->streamed != before;
    if (sent == transport::Sent::full) break;
    peer.first_stream = first->next_stream;
    if (!peer.first_stream) peer.last_stream = nullptr;
    if (sent == transport::Sent::failed)
      first->go_nowhere();
    else
      first->end(Err::ok);
  }
  return moved;
}

}  // namespace dunlin::protocol
