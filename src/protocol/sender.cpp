#include "protocol/sender.hpp"

#include "base/assert.hpp"
#include "copy/copy.hpp"
#include "protocol/limits.hpp"
#include "protocol/offload.hpp"

namespace dunlin::protocol {
namespace {

/// Where both sides copy they share the work of gathering, too: what has gaps is worth it from half the size
/// on.
std::size_t shared_bytes_of(const Source& data) noexcept {
  const auto bytes = std::size_t(shared_bytes.get());
  return data.is_contiguous() ? bytes : (bytes + 1) / 2;
}

}  // namespace

bool Sender::try_send_now(Comm& comm, Plane plane, const Source& data, int dest, int tag) noexcept {
  Peer& peer = peers_.of(comm.target_members[dest]);
  const transport::Envelope envelope{comm.context_of(plane), comm.rank, tag, std::uint32_t(data.bytes),
                                     transport::MessageKind::eager};
  // Both limits let nothing through while sends are pending or held back.
  if (data.bytes < peer.short_bytes_end_now && data.is_contiguous()) [[likely]]
    if (peer.shm->try_send_short(envelope, data.address)) [[likely]]
      return true;
  if (std::int64_t(data.bytes) > (peer.eager_bytes_max_now >> !data.is_contiguous())) return false;
  return peer.try_send(envelope, {}, data) == transport::Sent::yes;
}

void Sender::send(SendRequest& request, Comm& comm, Plane plane, const Source& data, int dest, int tag,
                  Mode mode) noexcept {
  Peer& peer = peers_.of(comm.target_members[dest]);
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
    return peers_.enqueue(peer, request);
  }
  if (sent == transport::Sent::failed) request.go_nowhere();
}

transport::Sent Sender::try_start(SendRequest& request) noexcept {
  if (offload_) [[unlikely]]
    return offload_->try_start(request);
  Peer& peer = *request.peer;
  Facts facts{.bytes = request.data.bytes,
              .eager_bytes = std::size_t(peer.eager_bytes_max),
              .shared_bytes = shared_bytes_of(request.data),
              .is_to_self = peer.index == peers_.me(),
              .must_be_offered = peer.is_held_back,
              .reads = peer.can_move(request.data, request.data.bytes)};
  if (facts.bytes >= facts.shared_bytes && peer.shm) {
    const peer::PeerMemory* const memory = peers_.memory_of(peer);
    const Datatype* const type = request.data.type;
    // Far ranks do not share what their caches hold: the channel stores around them, without the receiver.
    const bool goes_whole = !type && !facts.must_be_offered && facts.bytes <= facts.eager_bytes;
    const bool goes_around =
        goes_whole && have_own_cpus_ && peer.shm->is_far() && copy::takes_over(facts.bytes);
    facts.reads = memory && !type && memory->can_copy_anywhere();
    // Where this buffer cannot be mapped perhaps the receiver's can; but the channel, for what fits it, and a
    // kernel that reads are sure.
    const bool has_sure_way = facts.reads || facts.bytes <= facts.eager_bytes;
    facts.maps = memory && !goes_around && memory->can_map() &&
                 (!has_sure_way || peers_.is_mappable(request.data)) &&
                 (!type || published_layout(*type) != 0);
  }
  const Way way = choose(facts);
  return way == Way::channel ? try_send_whole(request) : rendezvous_.try_offer(request, way);
}

transport::Sent Sender::try_send_whole(SendRequest& request) noexcept {
  Peer& peer = *request.peer;
  transport::Envelope& envelope = request.envelope;
  if (request.mode != Mode::synchronous) {
    envelope.kind = transport::MessageKind::eager;
    envelope.bytes = std::uint32_t(request.data.bytes);
    const transport::Sent sent = peer.try_send(envelope, {}, request.data);
    if (sent == transport::Sent::yes) request.end(Err::ok);
    return sent;
  }
  const auto cookie = reinterpret_cast<std::uint64_t>(&request);
  envelope.kind = transport::MessageKind::eager_synchronous;
  envelope.bytes = std::uint32_t(request.data.bytes + sizeof cookie);
  const SendRequest::Stage before = std::exchange(request.stage, SendRequest::Stage::offered);
  const transport::Sent sent = peer.try_send(envelope, std::as_bytes(std::span(&cookie, 1)), request.data);
  if (sent != transport::Sent::yes) request.stage = before;
  return sent;
}

void Sender::cancel(SendRequest& request) noexcept {
  Peer& peer = *request.peer;
  if (request.stage == SendRequest::Stage::offered && !request.is_cancel_asked) {
    request.is_cancel_asked = true;
    if (offload_) return offload_->cancel(request);
    return peers_.send_control(peer,
                               {.kind = ControlKind::cancel, .a = reinterpret_cast<std::uint64_t>(&request)});
  }
  if (request.stage != SendRequest::Stage::queued) return;
  peer.outgoing.remove(request);
  peer.update_eager_bytes_max_now();
  request.completion.is_cancelled = true;
  request.end(Err::ok);
}

}  // namespace dunlin::protocol
