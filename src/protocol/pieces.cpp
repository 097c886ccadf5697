// Messages that go through the channel in pieces, so that the receiver copies one while the sender writes the
// next.
//
// The first piece comes with the envelope and the length; the others follow as control messages without being
// asked for.  A sender has its messages out one after the other, so a piece belongs to the oldest of its
// messages that is not complete.  One that no receive waits for is gathered in memory of its own, and a
// receive that comes meanwhile takes over.  Called by protocol.cpp (sending), receive.cpp and control.cpp.
#include <algorithm>
#include <cstring>

#include "protocol/protocol.hpp"

namespace dunlin::protocol {

transport::Sent Protocol::try_start_pieces(SendRequest& request) noexcept {
  Peer& peer = *request.peer;
  const std::uint64_t total = request.data.bytes;
  Source first = request.data;
  first.bytes = std::size_t(peer.piece_bytes_max);
  request.envelope.kind = transport::MessageKind::eager_pieces;
  request.envelope.bytes = std::uint32_t(sizeof total + first.bytes);
  const transport::Sent sent = peer.try_send(request.envelope, std::as_bytes(std::span(&total, 1)), first);
  if (sent != transport::Sent::yes) return sent;
  request.stage = SendRequest::Stage::streaming;
  request.streamed = first.bytes;
  request.wanted = total;
  request.receiver_cookie = 0;
  stream(request);
  flush_streams(peer);
  return transport::Sent::yes;
}

/// The receive gets what is there and what is still to come, of a message that has just begun, or that was
/// kept until now.  False: all is there.
bool Protocol::try_follow_pieces(ReceiveRequest& request, Peer& peer, const transport::Envelope& envelope,
                                 const transport::Payload& payload, const match::Unexpected* kept) noexcept {
  std::uint64_t total;
  payload.copy_to(reinterpret_cast<std::byte*>(&total), 0, sizeof total);
  if (!kept) peer.arriving.push_back({nullptr, nullptr, total, envelope.bytes - sizeof total});
  const auto found = std::find_if(peer.arriving.rbegin(), peer.arriving.rend(),
                                  [&](const Arriving& each) { return !each.request && each.kept == kept; });
  if (found == peer.arriving.rend()) return false;
  const std::uint64_t bytes = found->position;
  *found = {&request, nullptr, total, 0};
  request.expected = fit(request, total);
  add_piece(*found, payload, sizeof total, bytes);
  return true;
}

void Protocol::piece_arrived(Peer& peer, const transport::Envelope& envelope,
                             const transport::Payload& payload) noexcept {
  DUNLIN_ASSERT(!peer.arriving.empty());
  Arriving& oldest = peer.arriving.front();
  add_piece(oldest, payload, sizeof(Control), envelope.bytes - sizeof(Control));
  if (oldest.position < oldest.bytes) return;
  ReceiveRequest* const request = oldest.request;
  peer.arriving.erase(peer.arriving.begin());
  if (request) request->finish();
}

/// `bytes` of a payload, from `head` on, are the next ones of a message.
void Protocol::add_piece(Arriving& message, const transport::Payload& payload, std::size_t head,
                         std::size_t bytes) noexcept {
  DUNLIN_ASSERT(message.position + bytes <= message.bytes);
  const std::uint64_t position = message.position;
  message.position += bytes;
  if (message.kept)
    return payload.copy_to(message.kept->payload().data() + sizeof message.bytes + position, head, bytes);
  // What is beyond a short receive buffer is dropped; the receive knows.
  const std::uint64_t room = message.request->expected;
  if (position < room)
    place(*message.request, payload, head, position, std::min<std::uint64_t>(bytes, room - position));
}

}  // namespace dunlin::protocol
