// Sending: eager, offered, queued, streamed.  The receiving half is in receive.cpp, control messages in
// control.cpp.
#include "protocol/protocol.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/log.hpp"
#include "base/variable.hpp"
#include "peer/peer_memory.hpp"
#include "progress/engine.hpp"

namespace dunlin::protocol {
namespace {

IntVariable eager_bytes{
    "EAGER_BYTES", 16 << 10, "bytes",
    "largest message that is sent without asking the receiver, four times as much where the receiver cannot "
    "read the buffer in place; larger ones go by rendezvous",
    0};

IntVariable piece_bytes{
    "PIECE_BYTES", 16 << 10, "bytes",
    "data that goes through a channel goes in pieces of this size, or twice it, so that both sides copy "
    "at the same time",
    64};
IntVariable place_bytes_max{
    "PLACE_BYTES_MAX", 512 << 10, "bytes",
    "largest message that a sender writes into the buffer of a receive that waits for it, where it would "
    "push it; 0: none",
    0};
constexpr std::int64_t kEagerBytesLimit = std::int64_t{1} << 30;

std::span<const std::byte> bytes_of(const auto& value) noexcept {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

Protocol::Protocol(progress::Engine& engine, int me, int world_size) noexcept
    : engine_(engine), me_(me), peers_(std::size_t(world_size), nullptr) {}

Protocol::~Protocol() {
  while (match::Unexpected* message = matcher_.first_arrived()) {
    matcher_.remove(*message);
    match::Matcher::destroy(message);
  }
  for (Peer* peer : peers_) delete peer;
}

Peer& Protocol::peer_of(int index) noexcept {
  DUNLIN_ASSERT(index >= 0);
  DUNLIN_ASSERT(std::size_t(index) < peers_.size());
  Peer*& peer = peers_[std::size_t(index)];
  if (peer) return *peer;
  peer = new Peer;
  peer->index = index;
  if (shm_) peer->channel = peer->shm = shm_->connect(index);
  for (transport::Transport* each : engine_.transports())
    if (!peer->channel) peer->channel = each->connect(index);
  if (!peer->channel)
    log::die(
        "no transport reaches rank %d from rank %d; are they on the same machine? (dunlin-info --transport)",
        index, me_);
  DUNLIN_ASSERT(peer->channel->bytes_max() >= sizeof(Control) + 8);
  peer->eager_bytes_max = std::min(eager_bytes.get(), kEagerBytesLimit);
  peer->copied_bytes_max = std::min(4 * eager_bytes.get(), kEagerBytesLimit);
  const auto channel_bytes_max = std::int64_t(peer->channel->bytes_max() - sizeof(Control));
  peer->piece_bytes_max = std::min(channel_bytes_max, piece_bytes.get());
  peer->long_piece_bytes_max = std::min(channel_bytes_max, 2 * piece_bytes.get());
  peer->update_eager_bytes_max_now();
  return *peer;
}

void Protocol::send(SendRequest& request, Comm& comm, Plane plane, const Source& data, int dest, int tag,
                    Mode mode) noexcept {
  Peer& peer = peer_of(comm.target_members[dest]);
  request.comm = &comm;
  request.has_empty_status = true;
  request.data = data;
  request.peer = &peer;
  request.mode = mode;
  request.stage = SendRequest::Stage::fresh;
  request.envelope = {comm.context_of(plane), comm.rank, tag, 0, transport::MessageKind::eager};
  const transport::Sent sent = peer.outgoing.is_empty() ? try_start(request) : transport::Sent::full;
  if (sent == transport::Sent::full) {
    request.stage = SendRequest::Stage::queued;
    return enqueue(peer, request);
  }
  if (sent == transport::Sent::failed)
    finish(request, fail(Err::proc_aborted, "rank %d cannot be reached", dest));
}

void Protocol::enqueue(Peer& peer, Outgoing& message) noexcept {
  peer.outgoing.push(message);
  peer.update_eager_bytes_max_now();
  mark_busy(peer);
}

/// Whether a message goes with its envelope, or is offered for the receiver to read it in place.  Reading
/// saves one of two copies (16 KiB of unchanged data .19 against .41 us half round trip near, .50 against
/// 1.28 far), but data that the sender has just written comes slowly (level near, 4.2 against 2.3 us far),
/// and a late receiver holds the sender up: then the receiver says so and we push for a while.  What cannot
/// be read in place is best copied through the ring (32 KB .76 against 3.1 us near).  And what is to be
/// pushed is best written where the receive waits.
Protocol::Route Protocol::take_route(Peer& peer, const transport::Envelope& envelope,
                                     const Source& data) noexcept {
  const auto bytes = std::int64_t(data.bytes);
  const Route usual = bytes <= peer.eager_bytes_max ? Route::push : Route::offer;
  if (!data.is_contiguous()) return peer.shm && is_scattered(data) ? Route::offer : usual;
  if (bytes < Peer::kReadBytesMin || !peer.shm) return usual;
  const bool is_long = bytes > peer.copied_bytes_max;
  if (is_long && bytes > place_bytes_max.get()) return Route::offer;
  const peer::PeerMemory* const memory = memory_of(peer);
  const bool can_map = memory && memory->can_map();
  const bool is_readable = can_map && memories_->is_shared(data.address, data.bytes);
  // Where ranks share cores, a handshake costs two switches.
  const bool avoids_handshake = engine_.is_oversubscribed();
  if (is_readable && !avoids_handshake && !peer.pushes.try_use(data.address)) return Route::ask;
  const bool can_place = can_map && bytes >= Peer::kPlaceBytesMin && bytes <= place_bytes_max.get();
  if (can_place && try_place(peer, envelope, data)) return Route::placed;
  if (is_long) return Route::offer;
  return is_readable && avoids_handshake ? usual : Route::push;
}

/// Puts the envelope on its way.  The request may be complete, and gone, when this returns `yes`: over the
/// channel to oneself the receiver's answer comes before try_send returns.
transport::Sent Protocol::try_start(SendRequest& request) noexcept {
  Peer& peer = *request.peer;
  const Source data = request.data;
  transport::Envelope& envelope = request.envelope;
  const auto before = request.stage;
  const Route route = take_route(peer, envelope, data);
  if (route == Route::placed) {
    if (request.stage != SendRequest::Stage::streaming) finish(request, Err::ok);
    return transport::Sent::yes;
  }
  const bool is_pushed = route == Route::push && !peer.is_held_back;
  transport::Sent sent;
  if (is_pushed && request.mode != Mode::synchronous) {
    if (std::int64_t(data.bytes) > peer.piece_bytes_max) return try_start_pieces(request);
    envelope.kind = transport::MessageKind::eager;
    envelope.bytes = std::uint32_t(data.bytes);
    sent = peer.try_send(envelope, {}, data);
    if (sent == transport::Sent::yes) finish(request, Err::ok);
    return sent;
  }
  request.stage = SendRequest::Stage::offered;
  if (is_pushed && std::int64_t(data.bytes) <= peer.piece_bytes_max) {
    const auto cookie = reinterpret_cast<std::uint64_t>(&request);
    envelope.kind = transport::MessageKind::eager_synchronous;
    envelope.bytes = std::uint32_t(data.bytes + sizeof cookie);
    sent = peer.try_send(envelope, bytes_of(cookie), data);
  } else {
    const Offer offer = make_offer(request, route == Route::ask);
    envelope.kind = transport::MessageKind::rendezvous;
    envelope.bytes = sizeof offer;
    sent = peer.try_send(envelope, bytes_of(offer), {});
  }
  if (sent != transport::Sent::yes) {
    request.stage = before;
    withdraw_offer(request);
  }
  return sent;
}

void Protocol::finish(SendRequest& request, Err error) noexcept {
  request.stage = SendRequest::Stage::done;
  request.completion.error = error;
  withdraw_offer(request);
  if (request.on_complete) request.on_complete(request);
  request.finish();
}

void Protocol::mark_busy(Peer& peer) noexcept {
  if (peer.is_busy) return;
  peer.is_busy = true;
  peer.next_busy = busy_peers_;
  busy_peers_ = &peer;
}

bool Protocol::flush_busy() noexcept {
  // What is delivered to oneself meanwhile may make others busy: the list is taken off first.
  bool moved = false;
  for (Peer* each = std::exchange(busy_peers_, nullptr); each;) {
    Peer& peer = *each;
    each = peer.next_busy;
    peer.is_busy = false;
    moved |= try_flush(peer);
    if (peer.has_pending()) mark_busy(peer);
  }
  return moved;
}

/// What waits for room, in order, then data.
bool Protocol::try_flush(Peer& peer) noexcept {
  bool moved = false;
  while (Outgoing* const first = peer.outgoing.first()) {
    // Unlinked before the attempt: success may free the request.
    peer.outgoing.remove(*first);
    auto* const control = first->is_control ? static_cast<PendingControl*>(first) : nullptr;
    auto* const send = control ? nullptr : static_cast<SendRequest*>(first);
    const transport::Sent sent = control ? peer.try_send(control->control) : try_start(*send);
    if (sent == transport::Sent::full) {
      peer.outgoing.put_back(*first);
      break;
    }
    if (send && sent == transport::Sent::failed)
      finish(*send, fail(Err::proc_aborted, "rank %d is gone", peer.index));
    delete control;
    moved = true;
  }
  peer.update_eager_bytes_max_now();
  moved |= flush_streams(peer);
  return moved;
}

/// Data that goes through the channel.
void Protocol::stream(SendRequest& request) noexcept {
  Peer& peer = *request.peer;
  request.next_stream = nullptr;
  (peer.last_stream ? peer.last_stream->next_stream : peer.first_stream) = &request;
  peer.last_stream = &request;
  mark_busy(peer);
}

bool Protocol::flush_streams(Peer& peer) noexcept {
  bool moved = false;
  while (SendRequest* first = peer.first_stream) {
    const std::uint64_t before = first->streamed;
    const transport::Sent sent = try_stream(peer, *first);
    moved |= sent != transport::Sent::full || first->streamed != before;
    if (sent == transport::Sent::full) break;
    peer.first_stream = first->next_stream;
    if (!peer.first_stream) peer.last_stream = nullptr;
    finish(*first,
           sent == transport::Sent::yes ? Err::ok : fail(Err::proc_aborted, "rank %d is gone", peer.index));
  }
  return moved;
}

/// Sends chunks until all wanted bytes are out (`yes`) or there is no room (`full`).
transport::Sent Protocol::try_stream(Peer& peer, SendRequest& request) noexcept {
  // Longer pieces for longer messages: each waits once for its lines to come (docs/shm.md, "Pieces").  The
  // first is short all the same: the receiver has nothing to do before it comes.
  const bool is_long = request.wanted / 4 > std::uint64_t(peer.piece_bytes_max);
  while (request.streamed < request.wanted) {
    const std::int64_t most =
        is_long && request.streamed != 0 ? peer.long_piece_bytes_max : peer.piece_bytes_max;
    const std::size_t bytes = std::min(std::uint64_t(most), request.wanted - request.streamed);
    const Control control{.kind = request.receiver_cookie ? ControlKind::chunk : ControlKind::piece,
                          .a = request.receiver_cookie,
                          .b = request.streamed};
    transport::Envelope envelope;
    envelope.kind = transport::MessageKind::control;
    envelope.bytes = std::uint32_t(sizeof control + bytes);
    Source piece = request.data;
    piece.bytes = bytes;
    if (piece.is_contiguous())
      piece.address += request.streamed;
    else
      piece.position += request.streamed;
    const transport::Sent sent = peer.try_send(envelope, bytes_of(control), piece);
    if (sent != transport::Sent::yes) return sent;
    request.streamed += bytes;
  }
  return transport::Sent::yes;
}

}  // namespace dunlin::protocol
