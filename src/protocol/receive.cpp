// Receiving: matching what arrives, keeping what nobody waits for, moving the data of an accepted offer.
#include <algorithm>
#include <cstring>

#include "base/copy_short.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "datatype/cursor.hpp"
#include "progress/engine.hpp"
#include "protocol/protocol.hpp"

namespace dunlin::protocol {
namespace {

IntVariable unexpected_bytes_max{"UNEXPECTED_BYTES", std::int64_t{1} << 30, "bytes",
                                 "memory for messages that no receive has asked for yet; beyond it senders "
                                 "keep theirs until a receive is posted",
                                 0};

/// Payload of a kept message.
class Kept final : public transport::Payload {
 public:
  explicit Kept(std::span<const std::byte> bytes) noexcept { first = bytes; }
  void copy_to(std::byte* to, std::size_t from, std::size_t bytes) const noexcept override {
    std::memcpy(to, first.data() + from, bytes);
  }
};

template <class T>
T header_of(const transport::Payload& payload) noexcept {
  T header;
  if (payload.first.size() >= sizeof header) [[likely]]
    std::memcpy(&header, payload.first.data(), sizeof header);
  else
    payload.copy_to(reinterpret_cast<std::byte*>(&header), 0, sizeof header);
  return header;
}

Err truncated(std::uint64_t bytes, std::uint64_t room) noexcept {
  return fail(Err::truncate, "the message has %llu bytes, the receive buffer only room for %llu",
              static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(room));
}

}  // namespace

void Protocol::begin(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data, int source,
                     int tag) noexcept {
  request.comm = &comm;
  request.key = {comm.context_of(plane), source, tag};
  request.data = data;
}

void Protocol::receive(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data, int source,
                       int tag) noexcept {
  begin(request, comm, plane, data, source, tag);
  if (matcher_.has_unexpected())
    if (match::Unexpected* message = matcher_.find(request.key)) {
      matcher_.remove(*message);
      return deliver_kept(request, *message);
    }
  matcher_.post(request);
}

void Protocol::receive_and_wait(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data,
                                int source, int tag) noexcept {
  begin(request, comm, plane, data, source, tag);
  const int from = source == match::kAny ? -1 : comm.target_members[source];
  if (shm_ && from >= 0) {
    Peer& peer = peer_of(from);
    if (!peer.incoming) peer.incoming = shm_->reader_of(from);
  }
  if (matcher_.has_unexpected()) [[unlikely]]
    if (match::Unexpected* message = matcher_.find(request.key)) {
      matcher_.remove(*message);
      deliver_kept(request, *message);
      return engine_.wait(request, from);
    }
  if (!matcher_.try_await(request)) [[unlikely]]
    matcher_.post(request);
  engine_.wait(request, from);
}

match::Unexpected* Protocol::probe(Comm& comm, Plane plane, int source, int tag) noexcept {
  return matcher_.has_unexpected() ? matcher_.find({comm.context_of(plane), source, tag}) : nullptr;
}

void Protocol::extract(match::Unexpected& message) noexcept { matcher_.remove(message); }

void Protocol::receive_matched(ReceiveRequest& request, Comm& comm, match::Unexpected& message,
                               const Target& data) noexcept {
  request.comm = &comm;
  request.key = message.key;
  request.data = data;
  deliver_kept(request, message);
}

std::uint64_t Protocol::message_bytes(match::Unexpected& message) noexcept {
  switch (message.kind) {
    case transport::MessageKind::rendezvous:
      return header_of<Offer>(Kept(message.payload())).bytes;
    case transport::MessageKind::eager_synchronous:
    case transport::MessageKind::eager_pieces:
      return message.bytes - sizeof(std::uint64_t);
    default:
      return message.bytes;
  }
}

void Protocol::deliver_kept(ReceiveRequest& request, match::Unexpected& message) noexcept {
  const transport::Envelope envelope{message.key.context, message.key.source, message.key.tag, message.bytes,
                                     message.kind};
  accept(request, message.peer, envelope, Kept(message.payload()), &message);
  forget(message);
}

// hot path: a short message for the oldest of receives that all wait for its like; about 35 instructions.
bool Protocol::try_arrive_short(std::uint64_t context, std::uint64_t source_and_tag, const std::byte* payload,
                                std::size_t bytes) noexcept {
  const match::Key key{context, std::int32_t(source_and_tag), std::int32_t(source_and_tag >> 32)};
  auto* const request = static_cast<ReceiveRequest*>(matcher_.first_of_run(key));
  if (!request || !request->data.is_contiguous() || bytes > request->data.bytes) [[unlikely]]
    return false;
  matcher_.take_first_of_run();
  request->completion.source = key.source;
  request->completion.tag = key.tag;
  request->completion.bytes = bytes;
  copy_short(request->data.address, payload, bytes);
  request->finish();
  return true;
}

// hot path: 8-byte messages that are waited for; about 40 instructions besides matching.
void Protocol::arrived(int peer, const transport::Envelope& envelope,
                       const transport::Payload& payload) noexcept {
  if (envelope.kind == transport::MessageKind::control) [[unlikely]]
    return control_arrived(peer_of(peer), envelope, payload);
  match::Posted* posted = matcher_.take({envelope.context, envelope.source, envelope.tag});
  if (!posted) [[unlikely]]
    return keep_unexpected(peer, envelope, payload);
  auto& request = static_cast<ReceiveRequest&>(*posted);
  if (envelope.kind == transport::MessageKind::eager && request.data.is_contiguous() &&
      envelope.bytes <= request.data.bytes) [[likely]] {
    request.completion.source = envelope.source;
    request.completion.tag = envelope.tag;
    request.completion.bytes = envelope.bytes;
    if (envelope.bytes <= transport::shm::Line::kFirstBytes) [[likely]]
      copy_short(request.data.address, payload.first.data(), envelope.bytes);
    else
      payload.copy_to(request.data.address, 0, envelope.bytes);
    return request.finish();
  }
  accept(request, peer, envelope, payload);
}

/// Delivers a matched message of any kind into any buffer.
void Protocol::accept(ReceiveRequest& request, int peer, const transport::Envelope& envelope,
                      const transport::Payload& payload, const match::Unexpected* kept) noexcept {
  request.is_matched = true;
  request.completion.source = envelope.source;
  request.completion.tag = envelope.tag;
  if (envelope.kind == transport::MessageKind::rendezvous)
    return accept_offer(request, peer_of(peer), header_of<Offer>(payload), kept != nullptr);
  if (envelope.kind == transport::MessageKind::placed)
    return follow_placed(request, peer_of(peer), header_of<Placed>(payload));
  if (envelope.kind == transport::MessageKind::eager_pieces &&
      try_follow_pieces(request, peer_of(peer), envelope, payload, kept))
    return;
  const std::size_t head = envelope.kind == transport::MessageKind::eager ? 0 : sizeof(std::uint64_t);
  if (envelope.kind == transport::MessageKind::eager_synchronous)
    send_control(peer_of(peer), {.kind = ControlKind::matched, .a = header_of<std::uint64_t>(payload)});
  place(request, payload, head, 0, fit(request, envelope.bytes - head));
  request.finish();
}

/// How many of a message's `bytes` the receive has room for; its completion says so.
std::size_t Protocol::fit(ReceiveRequest& request, std::uint64_t bytes) noexcept {
  if (bytes > request.data.bytes) {
    request.completion.error = truncated(bytes, request.data.bytes);
    bytes = request.data.bytes;
  }
  request.completion.bytes = bytes;
  return bytes;
}

/// Copies `bytes` of the payload, from `head` on, to packed position `offset` of the receive buffer.
void Protocol::place(ReceiveRequest& request, const transport::Payload& payload, std::size_t head,
                     std::size_t offset, std::size_t bytes) noexcept {
  DUNLIN_ASSERT(offset + bytes <= request.data.bytes);
  if (request.data.is_contiguous()) {
    if (bytes > 0) payload.copy_to(request.data.address + offset, head, bytes);
    return;
  }
  const std::byte* from = payload.first.data() + head;
  if (head == payload.first.size() && bytes <= payload.second.size()) {
    from = payload.second.data();
  } else if (payload.first.size() < head + bytes) {  // in several runs: through scratch
    if (scratch_.size() < bytes) scratch_.resize(bytes);
    payload.copy_to(scratch_.data(), head, bytes);
    from = scratch_.data();
  }
  Cursor cursor(request.data);
  cursor.seek(offset);
  cursor.unpack(from, bytes);
}

/// Takes the data of an offer.  Where it might as well have been pushed, the sender hears what is faster.
void Protocol::accept_offer(ReceiveRequest& request, Peer& peer, const Offer& offer, bool was_kept) noexcept {
  const std::size_t bytes = fit(request, offer.bytes);
  request.asked_ns = 0;
  if (bytes == 0 || try_pull(request, peer, offer, bytes)) {
    const Verdict verdict = offer.asks() ? verdict_on(peer, offer, was_kept) : Verdict::none;
    send_control(peer, {.kind = ControlKind::done, .a = offer.cookie, .b = std::uint64_t(verdict)});
    return request.finish();
  }
  request.streamed = 0;
  request.expected = bytes;
  send_control(peer, {.kind = ControlKind::want_data,
                      .a = offer.cookie,
                      .b = reinterpret_cast<std::uint64_t>(&request),
                      .c = bytes});
}

Verdict Protocol::verdict_on(const Peer& peer, const Offer& offer, bool was_kept) noexcept {
  // A blocking send waits for a late receiver.
  if (was_kept && std::int64_t(offer.bytes) <= peer.eager_bytes_max) return Verdict::push_instead;
  switch (peer.sources.freshness()) {
    case Freshness::fresh:
      return Verdict::push_instead;
    case Freshness::old:
      return Verdict::go_on;
    case Freshness::unknown:
      break;
  }
  return Verdict::none;
}

void Protocol::keep_unexpected(int peer, const transport::Envelope& envelope,
                               const transport::Payload& payload) noexcept {
  DUNLIN_ASSERT(envelope.kind != transport::MessageKind::placed);  // a receive waited for it
  const bool is_in_pieces = envelope.kind == transport::MessageKind::eager_pieces;
  const std::uint64_t head = is_in_pieces ? sizeof(std::uint64_t) : 0;
  const std::uint64_t bytes = is_in_pieces ? head + header_of<std::uint64_t>(payload) : envelope.bytes;
  match::Unexpected* message =
      match::Matcher::create({envelope.context, envelope.source, envelope.tag}, std::uint32_t(bytes));
  if (!message)
    log::die("out of memory for an unexpected message of %llu bytes from rank %d",
             static_cast<unsigned long long>(bytes), peer);
  message->peer = peer;
  message->kind = envelope.kind;
  if (envelope.bytes > 0) payload.copy_to(message->payload().data(), 0, envelope.bytes);
  matcher_.add(*message);
  if (is_in_pieces) peer_of(peer).arriving.push_back({nullptr, message, bytes - head, envelope.bytes - head});
  unexpected_bytes_ += sizeof *message + bytes;
  if (unexpected_bytes_ <= std::uint64_t(unexpected_bytes_max.get())) [[likely]]
    return;
  Peer& sender = peer_of(peer);
  if (sender.has_told_hold) return;
  sender.has_told_hold = true;
  told_to_hold_.push_back(&sender);
  send_control(sender, {.kind = ControlKind::hold});
}

void Protocol::forget(match::Unexpected& message) noexcept {
  unexpected_bytes_ -= sizeof message + message.bytes;
  match::Matcher::destroy(&message);
  if (!told_to_hold_.empty() && unexpected_bytes_ <= std::uint64_t(unexpected_bytes_max.get()) / 2)
      [[unlikely]]
    resume_senders();
}

void Protocol::resume_senders() noexcept {
  const std::vector<Peer*> senders = std::move(told_to_hold_);
  told_to_hold_.clear();
  for (Peer* sender : senders) {
    sender->has_told_hold = false;
    send_control(*sender, {.kind = ControlKind::resume});
  }
}

}  // namespace dunlin::protocol
