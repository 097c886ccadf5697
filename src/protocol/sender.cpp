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
  const Source& data = request.data;
  Facts facts{.bytes = data.bytes,
              .eager_bytes = std::size_t(peer.eager_bytes_max),
              .shared_bytes = shared_bytes_of(data),
              .is_to_self = peer.index == peers_.me(),
              .must_be_offered = peer.is_held_back,
              .has_gaps = !data.is_contiguous(),
              .reads = peer.can_move(data, data.bytes)};
  // Nobody looks for the memory of what is not worth a shared copy.
  if (facts.bytes >= facts.shared_bytes && peer.shm) {
    const peer::PeerMemory* const memory = peers_.memory_of(peer);
    facts.is_far = have_own_cpus_ && peer.shm->is_far() && copy::takes_over(facts.bytes);
    facts.reads = memory && !facts.has_gaps && memory->can_copy_anywhere();
    facts.is_mappable = memory && peers_.is_mappable(data);
    facts.may_map = memory && memory->can_map() && (!facts.has_gaps || published_layout(*data.type) != 0);
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
