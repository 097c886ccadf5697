// Messages that the sender writes into the buffer in which their receive waits.
//
// A blocking receive of 16 KiB or more tells in which buffer it waits for the very next message of its sender
// (`Awaited` in transport/shm/ring.hpp).  A sender that finds it there, and would have pushed the data
// through the channel (take_route), maps the buffer and copies once, without asking; then a message says that
// the data is there.  docs/shm.md, "Placing".
//
// Invariant: the receiver's word counts for one position of the ring.  It was written when nothing else could
// get that message, and holds until it is read; so no message can be placed into a buffer that is not its
// receive's, or no longer.
#include <utility>

#include "copy/copy.hpp"
#include "peer/peer_memory.hpp"
#include "protocol/protocol.hpp"

namespace dunlin::protocol {
namespace {

/// Fetches lines that another core has just written.
void fetch(const std::byte* at, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; i += 64) asm volatile("" : : "r"(at[i]));
}

}  // namespace

/// hot path of large receives.  Nothing else may get the next message of this key (Matcher::is_free).
void Protocol::tell_awaited(Peer& peer, std::uint64_t context, int source, int tag,
                            const Target& data) noexcept {
  if (!memories_ || !memories_->is_shared(data.address, data.bytes)) return;
  peer.incoming->await({context, source, tag, reinterpret_cast<std::uint64_t>(data.address), data.bytes});
}

/// False: nothing was sent.
bool Protocol::try_place(Peer& peer, const transport::Envelope& envelope, const Source& data) noexcept {
  const transport::shm::AwaitedBuffer* const awaited = peer.first_stream ? nullptr : peer.shm->awaited();
  if (!awaited || awaited->context != envelope.context || awaited->source != envelope.source ||
      awaited->tag != envelope.tag || awaited->bytes < data.bytes)
    return false;
  peer::PeerMemory& memory = *peer.memory;
  const peer::Mapping to = memory.map(awaited->address, data.bytes);
  if (!to) return false;
  copy::bytes(to.at, data.address, data.bytes, copy::Hint::to_peer);
  if (!memory.is_still_valid(to)) return false;
  transport::Envelope message = envelope;
  const Placed placed{data.bytes, data.bytes};
  message.kind = transport::MessageKind::placed;
  message.bytes = sizeof placed;
  return peer.try_send(message, std::as_bytes(std::span(&placed, 1)), {}) == transport::Sent::yes;
}

/// The receive that waited has its data, or the beginning.
void Protocol::follow_placed(ReceiveRequest& request, Peer& peer, const Placed& placed) noexcept {
  DUNLIN_ASSERT(request.data.is_contiguous());
  DUNLIN_ASSERT(placed.bytes <= request.data.bytes);
  request.completion.bytes = request.expected = placed.bytes;
  DUNLIN_ASSERT(peer.arriving.empty());  // pieces go one message after the other
  peer.arriving.push_back({&request, nullptr, placed.bytes, 0});
  placed_arrived(peer, placed.placed);
}

/// `placed` bytes of the message that comes in pieces are there.
void Protocol::placed_arrived(Peer& peer, std::uint64_t placed) noexcept {
  DUNLIN_ASSERT(!peer.arriving.empty());
  Arriving& message = peer.arriving.front();
  DUNLIN_ASSERT(message.request && placed > message.position && placed <= message.bytes);
  ReceiveRequest& request = *message.request;
  const std::uint64_t position = std::exchange(message.position, placed);
  if (peer.sources.is_distant()) fetch(request.data.address + position, placed - position);
  if (placed < message.bytes) return;
  peer.arriving.erase(peer.arriving.begin());
  // Who answers finds it here then: a distant line takes as long as copying 8 KiB.
  peer.shm->fetch_awaited();
  request.finish();
}

}  // namespace dunlin::protocol
