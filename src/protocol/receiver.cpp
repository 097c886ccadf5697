#include "protocol/receiver.hpp"

#include <cstring>

#include "base/copy_short.hpp"
#include "base/little_behind.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "protocol/offload.hpp"

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
    copy_block(to, first.data() + from, bytes);
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

}  // namespace

Receiver::~Receiver() {
  while (match::Unexpected* message = matcher_.first_arrived()) {
    matcher_.remove(*message);
    match::Matcher::destroy(message);
  }
}

void Receiver::begin(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data, int source,
                     int tag) noexcept {
  request.comm = &comm;
  request.key = {comm.context_of(plane), source, tag};
  request.data = data;
}

void Receiver::receive(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data, int source,
                       int tag) noexcept {
  begin(request, comm, plane, data, source, tag);
  if (offload_) [[unlikely]]
    return offload_->post(request);
  if (!try_deliver_unexpected(request)) matcher_.post(request);
}

int Receiver::receive_next(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data, int source,
                           int tag) noexcept {
  begin(request, comm, plane, data, source, tag);
  const int from = source == match::kAny ? -1 : comm.target_members[source];
  if (offload_) [[unlikely]]
    return offload_->post(request), from;
  transport::shm::Transport* const shm = peers_.shared_memory();
  if (shm && from >= 0) {
    Peer& peer = peers_.of(from);
    if (!peer.incoming) peer.incoming = shm->reader_of(from);
  }
  if (!try_deliver_unexpected(request) && !matcher_.try_await(request)) matcher_.post(request);
  return from;
}

bool Receiver::try_receive_now(Comm& comm, Plane plane, const Target& data, int source, int tag,
                               Completion& completion) noexcept {
  if (source < 0 || tag < 0 || !data.is_contiguous() || named_receives.are_used_up()) return false;
  const match::Key key{comm.context_of(plane), source, tag};
  if (!matcher_.is_free(key)) return false;
  Peer* const peer = peers_.or_null(comm.target_members[source]);
  if (!peer || !peer->incoming) [[unlikely]]
    return false;
  for (int polls = polls_direct_;; peers_.shared_memory()->rest()) {
    std::int64_t bytes =
        peer->incoming->try_take(key.context, source, tag, data.address, std::int64_t(data.bytes));
    if (bytes == transport::shm::RingReader::kOther) [[unlikely]]
      bytes = peer->incoming->try_take_any(key.context, source, tag, data.address, std::int64_t(data.bytes));
    if (bytes >= 0) [[likely]] {
      named_receives.use();
      completion.source = source;
      completion.tag = tag;
      completion.bytes = std::uint64_t(bytes);
      return true;
    }
    if (bytes == transport::shm::RingReader::kOther || --polls <= 0) return false;
  }
}

Err Receiver::check_probe(Comm& comm, Plane plane, int tag) const noexcept {
  return offload_ ? offload_->check_tag({comm.context_of(plane), match::kAny, tag}) : Err::ok;
}

match::Unexpected* Receiver::probe(Comm& comm, Plane plane, int source, int tag) noexcept {
  const match::Key wanted{comm.context_of(plane), source, tag};
  if (offload_) return offload_->find(wanted);
  return matcher_.has_unexpected() ? matcher_.find(wanted) : nullptr;
}

match::Unexpected& Receiver::extract(match::Unexpected& message) noexcept {
  if (offload_) return offload_->extract(message);
  matcher_.remove(message);
  return message;
}

void Receiver::receive_matched(ReceiveRequest& request, Comm& comm, match::Unexpected& message,
                               const Target& data) noexcept {
  request.comm = &comm;
  request.key = message.key;
  request.data = data;
  if (offload_) return offload_->deliver(request, message);
  deliver_kept(request, message);
}

std::uint64_t Receiver::message_bytes(match::Unexpected& message) noexcept {
  switch (message.kind) {
    case transport::MessageKind::rendezvous:
      return header_of<Offer>(Kept(message.payload())).bytes;
    case transport::MessageKind::eager_synchronous:
      return message.bytes - sizeof(std::uint64_t);
    default:
      return message.bytes;
  }
}

bool Receiver::try_deliver_unexpected(ReceiveRequest& request) noexcept {
  match::Unexpected* const message = matcher_.has_unexpected() ? matcher_.find(request.key) : nullptr;
  if (!message) return false;
  matcher_.remove(*message);
  deliver_kept(request, *message);
  return true;
}

void Receiver::deliver_kept(ReceiveRequest& request, match::Unexpected& message) noexcept {
  const transport::Envelope envelope{message.key.context, message.key.source, message.key.tag, message.bytes,
                                     message.kind};
  accept(request, message.peer, envelope, Kept(message.payload()));
  forget(message);
}

// hot path: a short message for the oldest of receives that all wait for its like; about 35 instructions.
bool Receiver::short_message_arrived(std::uint64_t context, std::uint64_t source_and_tag,
                                     const std::byte* payload, std::size_t bytes) noexcept {
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
void Receiver::message_arrived(int peer, const transport::Envelope& envelope,
                               const transport::Payload& payload) noexcept {
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
void Receiver::accept(ReceiveRequest& request, int peer, const transport::Envelope& envelope,
                      const transport::Payload& payload) noexcept {
  request.is_matched = true;
  request.completion.source = envelope.source;
  request.completion.tag = envelope.tag;
  if (envelope.kind == transport::MessageKind::rendezvous)
    return rendezvous_.accept(request, peers_.of(peer), header_of<Offer>(payload));
  std::size_t head = 0;
  if (envelope.kind == transport::MessageKind::eager_synchronous) {
    head = sizeof(std::uint64_t);
    peers_.send_control(peers_.of(peer),
                        {.kind = ControlKind::matched, .a = header_of<std::uint64_t>(payload)});
  }
  request.unpack(0, payload, head, request.fit(envelope.bytes - head));
  request.finish();
}

void Receiver::keep_unexpected(int peer, const transport::Envelope& envelope,
                               const transport::Payload& payload) noexcept {
  match::Unexpected* message =
      match::Matcher::create({envelope.context, envelope.source, envelope.tag}, envelope.bytes);
  if (!message)
    log::die("out of memory for an unexpected message of %u bytes from rank %d", envelope.bytes, peer);
  message->peer = peer;
  message->kind = envelope.kind;
  if (envelope.bytes > 0) payload.copy_to(message->payload().data(), 0, envelope.bytes);
  matcher_.add(*message);
  unexpected_bytes_ += sizeof *message + envelope.bytes;
  if (unexpected_bytes_ <= std::uint64_t(unexpected_bytes_max.get())) [[likely]]
    return;
  Peer& sender = peers_.of(peer);
  if (sender.has_told_hold) return;
  sender.has_told_hold = true;
  told_to_hold_.push_back(&sender);
  peers_.send_flow_control(sender);
}

void Receiver::forget(match::Unexpected& message) noexcept {
  unexpected_bytes_ -= sizeof message + message.bytes;
  match::Matcher::destroy(&message);
  if (!told_to_hold_.empty() && unexpected_bytes_ <= std::uint64_t(unexpected_bytes_max.get()) / 2)
      [[unlikely]]
    resume_senders();
}

void Receiver::resume_senders() noexcept {
  const std::vector<Peer*> senders = std::move(told_to_hold_);
  told_to_hold_.clear();
  for (Peer* sender : senders) {
    sender->has_told_hold = false;
    peers_.send_flow_control(*sender);
  }
}

void Receiver::cancel(ReceiveRequest& request) noexcept {
  if (request.is_complete || request.is_matched) return;
  if (offload_) return offload_->cancel(request);
  matcher_.withdraw_any(request);
  request.completion.is_cancelled = true;
  request.finish();
}

void Receiver::cancel_wanted(Peer& peer, std::uint64_t cookie) noexcept {
  bool is_forgotten = false;
  for (match::Unexpected* each = matcher_.first_arrived(); each; each = each->next_arrived) {
    const bool has_cookie = each->kind == transport::MessageKind::eager_synchronous ||
                            each->kind == transport::MessageKind::rendezvous;
    // The first word of both kinds.
    if (each->peer != peer.index || !has_cookie || header_of<std::uint64_t>(Kept(each->payload())) != cookie)
      continue;
    matcher_.remove(*each);
    forget(*each);
    is_forgotten = true;
    break;
  }
  peers_.send_control(peer, {.kind = ControlKind::cancelled, .a = cookie, .b = is_forgotten});
}

}  // namespace dunlin::protocol
