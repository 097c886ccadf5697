// Both ends of a rendezvous by direct access: what the sender offers, how the receiver takes it, and how a
// waiting sender helps to copy.  Called by protocol.cpp (sending), receive.cpp (receiving) and the progress
// engine (helping).
#include "copy/copy.hpp"
#include "datatype/cursor.hpp"
#include "os/clock.hpp"
#include "progress/engine.hpp"
#include "protocol/layouts.hpp"
#include "protocol/protocol.hpp"
#include "protocol/shared_transfer.hpp"

namespace dunlin::protocol {

peer::PeerMemory* Protocol::memory_of(Peer& peer) noexcept {
  if (!peer.is_memory_known) {
    peer.is_memory_known = true;
    if (memories_) peer.memory = memories_->connect(peer.index);
  }
  return peer.memory.get();
}

/// What goes with the envelope of a large message.  `withdraw_offer` ends it.  `asks`: it might as well be
/// pushed.
Offer Protocol::make_offer(SendRequest& request, bool asks) noexcept {
  DUNLIN_ASSERT(request.shared == nullptr);
  DUNLIN_ASSERT(request.exposed == 0);
  Offer offer{reinterpret_cast<std::uint64_t>(&request), request.data.bytes, 0, 0, 0};
  if (!request.data.is_contiguous()) {
    const std::uint64_t layout = request.peer->shm && memories_ ? published_layout(request.data) : 0;
    if (layout == 0) return offer;
    offer.address = reinterpret_cast<std::uint64_t>(request.data.address);
    offer.shared = layout | Offer::kHasLayout;
    return offer;
  }
  offer.address = reinterpret_cast<std::uint64_t>(request.data.address);
  if (!request.peer->shm || !memories_) return offer;
  const peer::Piece piece{const_cast<std::byte*>(request.data.address), request.data.bytes};
  offer.exposed = request.exposed = peer::expose({&piece, 1}, false);
  // Where ranks share cores, the sender does not run while the receiver copies.
  if (!engine_.is_oversubscribed())
    request.shared = open_transfer(request.data.address, request.data.bytes);
  offer.shared = reinterpret_cast<std::uint64_t>(request.shared) | (asks ? Offer::kAsks : 0);
  if (!request.shared) return offer;
  request.previous_shared = nullptr;
  request.next_shared = shared_sends_;
  if (shared_sends_) shared_sends_->previous_shared = &request;
  shared_sends_ = &request;
  return offer;
}

void Protocol::withdraw_offer(SendRequest& request) noexcept {
  if (request.exposed) peer::unexpose(request.exposed);
  request.exposed = 0;
  if (!request.shared) return;
  (request.previous_shared ? request.previous_shared->next_shared : shared_sends_) = request.next_shared;
  if (request.next_shared) request.next_shared->previous_shared = request.previous_shared;
  close_transfer(request.shared);
  request.shared = nullptr;
}

/// Whether the peer is going to read something of ours.
bool Protocol::has_offered_to(const Peer& peer) const noexcept {
  for (const SendRequest* each = shared_sends_; each; each = each->next_shared)
    if (each->peer == &peer) return true;
  return false;
}

/// Copies for receivers that have begun to take what this rank offered.
bool Protocol::help_receivers() noexcept {
  bool moved = false;
  for (SendRequest* each = shared_sends_; each; each = each->next_shared) {
    if (!has_begun(*each->shared)) [[likely]]
      continue;
    peer::PeerMemory* receiver = memory_of(*each->peer);
    moved |= receiver && help_transfer(*each->shared, *receiver, each->data.address);
  }
  return moved;
}

/// Reads the sender's memory directly; false when nobody can, or the channel is faster, and then nothing
/// counts as received.
bool Protocol::try_pull(ReceiveRequest& request, Peer& peer, const Offer& offer, std::size_t bytes) noexcept {
  if (peer.index == me_) {
    copy_data(reinterpret_cast<const SendRequest*>(offer.cookie)->data, request.data);
    return true;
  }
  if (offer.address == 0 && offer.layout() == 0) return false;  // a buffer with gaps may be MPI_BOTTOM
  peer::PeerMemory* const sender = memory_of(peer);
  if (!sender) return false;
  if (offer.layout() != 0) return peer.layouts.try_pull(*sender, offer, request.data, bytes);
  const bool is_contiguous = request.data.is_contiguous();
  if (is_contiguous && offer.transfer()) {
    // Two ranks that leave their messages to each other's pushing both wait here.
    const WhileWaiting help{
        [](void* self) noexcept { static_cast<Protocol*>(self)->help_receivers(); }, this};
    const ReceiveHints hints{.is_asked = offer.asks(), .is_sender_busy = has_offered_to(peer)};
    const SharedReceive received = try_receive_shared(
        *sender, offer.transfer(), offer.address, request.data.address, bytes, peer.sources, hints, help);
    if (received == SharedReceive::arrived) return true;
    if (received == SharedReceive::through_channel) return false;
  }
  if (const peer::Mapping mapping = sender->map(offer.address, bytes)) {
    if (is_contiguous && offer.asks()) peer.sources.learn(offer.address, bytes, mapping.at, true);
    if (is_contiguous)
      copy::bytes(request.data.address, mapping.at, bytes, copy::hint_for(bytes));
    else
      copy_data(Source{mapping.at, bytes}, request.data);
    if (sender->is_still_valid(mapping)) return true;
  }
  if (!is_contiguous) return false;
  // What the user has chosen is not compared with anything.
  const std::int64_t start_ns = os::now_ns();
  if (!peer::is_way_chosen() && peer.unmapped.next(bytes) == CopyContest::channel) {
    request.asked_ns = start_ns;
    return false;
  }
  const peer::Piece to{request.data.address, bytes};
  const peer::RemotePiece from{offer.address, bytes};
  if (!sender->try_read({&to, 1}, {&from, 1}, offer.exposed)) return false;
  peer.unmapped.took(CopyContest::kernel, bytes, os::now_ns() - start_ns);
  return true;
}

}  // namespace dunlin::protocol
