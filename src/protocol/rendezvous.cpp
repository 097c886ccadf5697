#include "protocol/rendezvous.hpp"

#include <memory>

#include "base/assert.hpp"
#include "base/big_lock.hpp"
#include "copy/copy.hpp"
#include "datatype/cursor.hpp"
#include "os/clock.hpp"

namespace dunlin::protocol {
namespace {

using transport::shm::TransferBuffer;

/// The layout of a buffer, for peers; 0: contiguous, or it has none that they can read.
std::uint64_t layout_of(const Datatype* type) noexcept { return type ? published_layout(*type) : 0; }

/// What the network reads for a receive.
struct NetworkRead {
  ReceiveRequest& request;
  Peer& peer;
  std::uint64_t cookie;  // the sender's
};

template <class Thing>
std::uint64_t token_of(const Thing& thing) noexcept {
  return reinterpret_cast<std::uint64_t>(&thing);
}

}  // namespace

/// The transfers of a rank of this node.
std::byte* Rendezvous::transfers_of(int peer) const noexcept {
  return peers_.shared_memory() ? peers_.shared_memory()->shared_lines(peer) : nullptr;
}

transport::Sent Rendezvous::try_offer(SendRequest& request, Way way) noexcept {
  DUNLIN_ASSERT(!request.copy && request.exposed == 0);
  Peer& peer = *request.peer;
  const Source& data = request.data;
  Offer offer{.cookie = reinterpret_cast<std::uint64_t>(&request), .bytes = data.bytes};
  if (way == Way::shared_copy || way == Way::remote_read) {
    offer.address = reinterpret_cast<std::uint64_t>(data.address);
    offer.layout = layout_of(data.type);
    const peer::Piece piece{const_cast<std::byte*>(data.address), data.bytes};
    if (data.is_contiguous()) offer.handle = request.exposed = peer::expose({&piece, 1}, false);
  }
  if (way == Way::shared_copy) {
    offer.chunking = Chunks::cut(data.bytes);
    request.copy = copies_.open(request, peer, data, offer.chunking, transfers_of(peers_.me()));
    if (request.copy) {
      offer.is_readable = peers_.is_mappable(data);
      offer.handle = std::uint64_t{request.copy->use()} << 32 | request.copy->index();
    } else {
      way = Way::remote_read;  // all transfers are in use
    }
  }
  if (peer.can_move(data, data.bytes)) {
    transport::RemoteBuffer buffer;
    const bool is_written = peer.remote->is_written();
    if (!is_written) request.opened = peer.remote->try_open_for_reads(data.address, data.bytes, buffer);
    offer.is_readable = is_written || request.opened != 0;
    offer.address = buffer.address;
    offer.handle = buffer.key;
  }
  offer.way = std::uint64_t(way);
  request.envelope.kind = transport::MessageKind::rendezvous;
  request.envelope.bytes = sizeof offer;
  const SendRequest::Stage before = std::exchange(request.stage, SendRequest::Stage::offered);
  const transport::Sent sent = peer.try_send(request.envelope, std::as_bytes(std::span(&offer, 1)), {});
  if (sent != transport::Sent::yes) {
    request.stage = before;
    withdraw(request);
  }
  return sent;
}

/// Nothing of the request is out any more.
void Rendezvous::withdraw(SendRequest& request) noexcept {
  if (request.exposed) peer::unexpose(request.exposed);
  request.exposed = 0;
  if (request.opened) request.peer->remote->close(request.opened);
  request.opened = 0;
  if (request.copy) copies_.close(*request.copy);
  request.copy = nullptr;
}

void Rendezvous::done(SendRequest& request) noexcept {
  withdraw(request);
  request.end(Err::ok);
}

void Rendezvous::cancelled(SendRequest& request) noexcept {
  request.completion.is_cancelled = true;
  done(request);
}

/// Chosen as the sender chose, but with what only the receiver knows; where a way declines, without it.
void Rendezvous::accept(ReceiveRequest& request, Peer& peer, const Offer& offer) noexcept {
  const std::size_t bytes = request.fit(offer.bytes);
  const bool is_to_self = Way(offer.way) == Way::to_self;
  if (is_to_self) copy_data(reinterpret_cast<const SendRequest*>(offer.cookie)->data, request.data);
  if (is_to_self || bytes == 0) {
    peers_.send_control(peer, {.kind = ControlKind::done, .a = offer.cookie});
    return request.finish();
  }
  request.expected = bytes;
  request.asked_ns = 0;
  peer::PeerMemory* const memory = peers_.memory_of(peer);
  Facts facts{.bytes = bytes, .must_be_offered = true};
  facts.may_map = facts.is_mappable = memory && Way(offer.way) == Way::shared_copy;
  facts.reads = memory && Way(offer.way) != Way::pieces && offer.layout == 0 &&
                request.data.is_contiguous() && memory->can_copy_anywhere();
  facts.reads |= offer.is_readable && bytes == offer.bytes && peer.can_move(request.data, bytes);
  facts.is_kernel_slower = !peer::is_way_chosen() && peer.kernel.is_kernel_slower();
  if (choose(facts) == Way::shared_copy) {
    if (try_join(request, peer, offer, bytes)) return;
    facts.may_map = false;
  }
  if (choose(facts) == Way::remote_read && try_read(request, peer, offer, bytes)) return;
  if (facts.reads && !peer.kernel.is_over()) request.asked_ns = os::now_ns();
  ask_for_data(request, peer, offer.cookie);
}

/// Both copy, or the one that can.
bool Rendezvous::try_join(ReceiveRequest& request, Peer& peer, const Offer& offer,
                          std::size_t bytes) noexcept {
  const Target& data = request.data;
  reinterpret_cast<transport::shm::Transfer*>(transfers_of(peer.index))[offer.transfer_index()].fetch();
  MappedBuffer theirs;
  if (offer.is_readable) theirs = peer.layouts.map(*peer.memory, {offer.address, bytes, offer.layout});
  const TransferBuffer own{reinterpret_cast<std::uint64_t>(data.address), bytes, layout_of(data.type)};
  const bool is_writable = peers_.is_mappable(data) && (!data.type || own.layout != 0);
  if (!theirs && !is_writable) return false;
  SharedCopy& copy =
      copies_.join(request, peer, data, bytes, offer.bytes, offer.chunking, transfers_of(peer.index),
                   offer.handle, std::move(theirs), own, is_writable);
  copy.cookie = offer.cookie;
  request.copy = &copy;
  return true;
}

bool Rendezvous::advance_copies(bool has_receives) noexcept {
  const SharedCopies::Round round = copies_.advance(has_receives);
  if (!round.finished) return round.has_moved;
  SharedCopy& copy = *round.finished;
  if (copy.side() == CopySide::sender) {
    done(static_cast<SendRequest&>(copy.request()));
    return true;
  }
  auto& request = static_cast<ReceiveRequest&>(copy.request());
  Peer& peer = copy.peer();
  const std::uint64_t cookie = copy.cookie;
  const std::span<const std::byte> lines = copy.lines_to_take_over();
  copies_.close(copy);
  request.copy = nullptr;
  if (round.is_spoilt) {
    ask_for_data(request, peer, cookie);
    return true;
  }
  // May be megabytes.  Nobody knows of the copy any more, and the request is not complete yet.
  const int levels = BigLock::is_needed() && !lines.empty() ? BigLock::release_all() : 0;
  copy::take_over(lines.data(), lines.size());
  if (levels > 0) BigLock::reacquire(levels);
  request.finish();
  return true;
}

/// The kernel copies, from one run of bytes to another: with gaps packing is faster (rows of 512 bytes 2.2
/// times, on 2 VCPUs of an Intel Sapphire Rapids).
bool Rendezvous::try_read(ReceiveRequest& request, Peer& peer, const Offer& offer,
                          std::size_t bytes) noexcept {
  if (peer.remote) return try_move(request, peer, offer);
  const std::int64_t start_ns = peer.kernel.is_over() ? 0 : os::now_ns();
  const peer::Piece to{request.data.address, bytes};
  const peer::RemotePiece from{offer.address, bytes};
  const std::uint64_t cookie = Way(offer.way) == Way::remote_read ? offer.handle : 0;
  if (!peer.memory->try_read({&to, 1}, {&from, 1}, cookie)) return false;
  if (start_ns != 0) peer.kernel.took(true, bytes, os::now_ns() - start_ns);
  peers_.send_control(peer, {.kind = ControlKind::done, .a = offer.cookie});
  request.finish();
  return true;
}

/// The network copies: it reads for us, or writes for the sender into a buffer that we open.
bool Rendezvous::try_move(ReceiveRequest& request, Peer& peer, const Offer& offer) noexcept {
  std::byte* const to = request.data.address;
  transport::RemoteBuffer buffer{offer.address, offer.handle};
  if (!peer.remote->is_written()) {
    auto* const read = new NetworkRead{request, peer, offer.cookie};
    if (peer.remote->try_read(to, offer.bytes, buffer, token_of(*read))) return true;
    delete read;
    return false;
  }
  if (!peer.remote->try_open_for_write(to, offer.bytes, token_of(request), buffer)) return false;
  peers_.send_control(peer, {.kind = ControlKind::write_here,
                             .number = buffer.number,
                             .a = offer.cookie,
                             .b = buffer.address,
                             .c = buffer.key});
  return true;
}

void Rendezvous::write_wanted(SendRequest& request, const Control& control) noexcept {
  DUNLIN_ASSERT(request.stage == SendRequest::Stage::offered);
  request.stage = SendRequest::Stage::streaming;
  const Source& data = request.data;
  if (!request.peer->remote->try_write(data.address, data.bytes, {control.b, control.c, control.number},
                                       token_of(request)))
    request.go_nowhere();
}

void Rendezvous::moved(transport::Moved what, std::uint64_t token, bool is_ok) noexcept {
  if (what == transport::Moved::written) {
    auto& send = *reinterpret_cast<SendRequest*>(token);
    return is_ok ? done(send) : send.go_nowhere();
  }
  const std::unique_ptr<NetworkRead> read(
      what == transport::Moved::read ? reinterpret_cast<NetworkRead*>(token) : nullptr);
  ReceiveRequest& request = read ? read->request : *reinterpret_cast<ReceiveRequest*>(token);
  if (read && is_ok) peers_.send_control(read->peer, {.kind = ControlKind::done, .a = read->cookie});
  if (!is_ok)
    request.completion.error =
        fail(Err::proc_aborted, "rank %d of the communicator is gone", request.completion.source);
  request.finish();
}

void Rendezvous::ask_for_data(ReceiveRequest& request, Peer& peer, std::uint64_t cookie) noexcept {
  request.streamed = 0;
  peers_.send_control(peer, {.kind = ControlKind::want_data,
                             .a = cookie,
                             .b = reinterpret_cast<std::uint64_t>(&request),
                             .c = request.expected});
}

void Rendezvous::chunk_arrived(Peer& peer, const Control& control, const transport::Envelope& envelope,
                               const transport::Payload& payload) noexcept {
  auto& request = *reinterpret_cast<ReceiveRequest*>(control.a);
  const std::size_t bytes = envelope.bytes - sizeof control;
  DUNLIN_ASSERT(request.streamed + bytes <= request.expected);
  request.unpack(control.b, payload, sizeof control, bytes);
  request.streamed += bytes;
  if (request.streamed != request.expected) return;
  if (request.asked_ns != 0) peer.kernel.took(false, request.expected, os::now_ns() - request.asked_ns);
  request.finish();
}

void Rendezvous::data_wanted(SendRequest& request, const Control& control) noexcept {
  DUNLIN_ASSERT(request.stage == SendRequest::Stage::offered);
  DUNLIN_ASSERT(control.c <= request.data.bytes);
  withdraw(request);
  request.stage = SendRequest::Stage::streaming;
  request.receiver_cookie = control.b;
  request.wanted = control.c;
  request.streamed = 0;
  peers_.stream(request);  // flushed by the next poll, not here: we are inside the transport's
}

}  // namespace dunlin::protocol
