#include "protocol/offload.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "datatype/cursor.hpp"

namespace dunlin::protocol {
namespace {

/// What travels beside a message: its number at the sender, and whether it is to be told of the match.
struct Note {
  std::uint32_t number;
  bool is_synchronous;
  std::uint32_t word() const noexcept { return number << 1 | (is_synchronous ? 1 : 0); }
  static Note of(std::uint32_t word) noexcept { return {word >> 1, (word & 1) != 0}; }
};

}  // namespace

Offload::~Offload() {
  if (found_) match::Matcher::destroy(found_);
}

Offload::Message& Offload::take(transport::Operation::Kind kind) noexcept {
  if (free_.empty()) {
    free_.push_back(std::uint32_t(messages_.size()));
    messages_.emplace_back().number = free_.back();
  }
  Message& message = messages_[free_.back()];
  free_.pop_back();
  message.kind = kind;
  return message;
}

void Offload::forget(Message& message) noexcept {
  message.send = nullptr;
  message.receive = nullptr;
  message.packed.reset();
  message.is_taken = false;
  free_.push_back(message.number);
}

void Offload::make_room(Message& message, std::uint64_t bytes) noexcept {
  message.packed.reset(new (std::nothrow) std::byte[bytes + 1]);
  if (!message.packed)
    log::die("out of memory for %llu bytes of a message that lies in pieces, or that nobody wants",
             static_cast<unsigned long long>(bytes));
  message.room = {message.packed.get(), bytes};
}

/// The network would take it for another one.
bool Offload::is_tag_wrong(Request& request, const match::Key& key) noexcept {
  if (key.tag <= bits_.tag_max() || Plane(key.context & 3) != Plane::point_to_point) [[likely]]
    return false;
  request.completion.error =
      fail(Err::tag,
           "tag is %d; where the network matches tags go up to %d, the attribute MPI_TAG_UB of the world",
           key.tag, bits_.tag_max());
  return true;
}

transport::Sent Offload::try_start(SendRequest& request) noexcept {
  const match::Key key{request.envelope.context, request.envelope.source, request.envelope.tag};
  if (is_tag_wrong(request, key)) return request.end(request.completion.error), transport::Sent::yes;
  if (request.data.bytes > network_.bytes_max()) {
    request.end(fail(Err::count, "a message of %zu bytes is longer than this network matches: %llu bytes",
                     request.data.bytes, static_cast<unsigned long long>(network_.bytes_max())));
    return transport::Sent::yes;
  }
  Message& message = take(transport::Operation::Kind::tagged_send);
  std::span<const std::byte> data{request.data.address, request.data.bytes};
  if (!request.data.is_contiguous()) {
    make_room(message, request.data.bytes);
    Cursor(request.data).pack(message.packed.get(), request.data.bytes);
    data = message.room;
  }
  const bool is_synchronous = request.mode == Mode::synchronous;
  message.send = &request;
  message.awaited = is_synchronous ? 2 : 1;
  const transport::Sent sent = network_.try_send(message, request.peer->index, bits_.pattern(key).bits,
                                                 Note{message.number, is_synchronous}.word(), data);
  if (sent != transport::Sent::yes) return forget(message), sent;
  request.stage = SendRequest::Stage::offered;
  request.opened = message.number;
  return sent;
}

void Offload::sent(transport::Operation& operation, bool is_ok) noexcept {
  auto& message = static_cast<Message&>(operation);
  if (is_ok) return end_one(message);
  SendRequest& request = *message.send;
  forget(message);
  request.go_nowhere();
}

/// One of the things has happened that a send waits for.
void Offload::end_one(Message& message) noexcept {
  DUNLIN_ASSERT(message.send != nullptr && message.awaited > 0);
  if (--message.awaited > 0) return;
  SendRequest& request = *message.send;
  forget(message);
  request.end(Err::ok);
}

void Offload::cancel(SendRequest& request) noexcept {
  DUNLIN_ASSERT(request.stage == SendRequest::Stage::offered);
  const match::Key key{request.envelope.context, request.envelope.source, request.envelope.tag};
  ++messages_[request.opened].awaited;  // the answer
  peers_.send_control(*request.peer,
                      {.kind = ControlKind::cancel, .a = request.opened, .b = bits_.pattern(key).bits});
}

bool Offload::try_hear(Peer& peer, const Control& control) noexcept {
  const auto number = std::uint32_t(control.a);
  switch (control.kind) {
    case ControlKind::matched:
      end_one(messages_[number]);
      return true;
    case ControlKind::cancel:
      cancel_wanted(peer, number, control.b);
      return true;
    case ControlKind::cancelled: {
      // Otherwise it was matched in the meantime: the send completes as any other.
      Message& message = messages_[number];
      if (control.b != 0) {
        message.send->completion.is_cancelled = true;
        if (message.send->mode == Mode::synchronous) --message.awaited;  // nobody matches it any more
      }
      end_one(message);
      return true;
    }
    default:
      return false;
  }
}

/// A sender wants its message back: if it is the next one of its kind that nobody has asked for, it is
/// received and dropped, so that the network is through with it on both sides.
void Offload::cancel_wanted(Peer& peer, std::uint32_t number, std::uint64_t bits) noexcept {
  Message& message = take(transport::Operation::Kind::tagged_receive);
  transport::Arrival arrival;
  const bool is_there =
      network_.try_look(message, {.bits = bits}, false, arrival) && Note::of(arrival.note).number == number;
  peers_.send_control(peer, {.kind = ControlKind::cancelled, .a = number, .b = is_there});
  if (!is_there || !network_.try_look(message, {.bits = bits}, true, arrival)) return forget(message);
  message.is_taken = true;
  make_room(message, arrival.bytes);
  if (!try_post(message)) waiting_.push_back(&message);
}

bool Offload::try_post(Message& message) noexcept {
  if (message.is_taken) return network_.try_receive_taken(message, message.room);
  return network_.try_receive(message, message.room, bits_.pattern(message.receive->key));
}

bool Offload::post_waiting() noexcept {
  const std::size_t before = waiting_.size();
  while (!waiting_.empty() && try_post(*waiting_.front())) waiting_.pop_front();
  return waiting_.size() < before;
}

/// Behind those that wait: receives are matched in the order of their posting.
void Offload::receive_into(Message& message, ReceiveRequest& request) noexcept {
  message.receive = &request;
  request.sequence = message.number;
  if (request.data.is_contiguous())
    message.room = {request.data.address, request.data.bytes};
  else
    make_room(message, request.data.bytes);
  if (!waiting_.empty() || !try_post(message)) waiting_.push_back(&message);
}

void Offload::post(ReceiveRequest& request) noexcept {
  if (is_tag_wrong(request, request.key)) return request.finish();
  receive_into(take(transport::Operation::Kind::tagged_receive), request);
}

void Offload::cancel(ReceiveRequest& request) noexcept {
  Message& message = messages_[request.sequence];
  DUNLIN_ASSERT(message.receive == &request);
  const auto place = std::find(waiting_.begin(), waiting_.end(), &message);
  if (place == waiting_.end()) return network_.cancel(message);
  waiting_.erase(place);
  received(message, {}, transport::Received::cancelled);
}

void Offload::received(transport::Operation& operation, const transport::Arrival& arrival,
                       transport::Received how) noexcept {
  auto& message = static_cast<Message&>(operation);
  if (!message.receive) return forget(message);
  ReceiveRequest& request = *message.receive;
  if (how == transport::Received::foreign) {
    log::note("a message that no rank of this job has sent was dropped");
    if (!try_post(message)) waiting_.push_back(&message);
    return;
  }
  if (how == transport::Received::yes) {
    complete(message, arrival);
  } else if (how == transport::Received::cancelled) {
    request.completion.is_cancelled = true;
  } else {
    request.completion.error =
        fail(Err::proc_aborted, "the network has lost a message: the rank that it is from is gone");
  }
  forget(message);
  request.finish();
}

/// Its message has come.
void Offload::complete(Message& message, const transport::Arrival& arrival) noexcept {
  ReceiveRequest& request = *message.receive;
  request.is_matched = true;
  request.completion.source = bits_.source(arrival.bits);
  request.completion.tag = bits_.tag(arrival.bits);
  const std::size_t bytes = request.fit(arrival.bytes);
  if (message.packed) Cursor(request.data).unpack(message.packed.get(), bytes);
  const Note note = Note::of(arrival.note);
  if (note.is_synchronous)
    peers_.send_control(peers_.of(request.comm->target_members[request.completion.source]),
                        {.kind = ControlKind::matched, .a = note.number});
}

match::Unexpected& Offload::show(const match::Key& key, std::uint64_t bytes, std::uint32_t number) noexcept {
  Offer offer;
  offer.cookie = number;
  offer.bytes = bytes;
  match::Unexpected* const message = match::Matcher::create(key, sizeof offer);
  if (!message) log::die("out of memory for a message that a probe has found");
  message->kind = transport::MessageKind::rendezvous;
  std::memcpy(message->payload().data(), &offer, sizeof offer);
  return *message;
}

match::Unexpected* Offload::find(const match::Key& wanted) noexcept {
  Message& message = take(transport::Operation::Kind::look);
  transport::Arrival arrival;
  const bool is_there = network_.try_look(message, bits_.pattern(wanted), false, arrival);
  forget(message);
  if (!is_there) return nullptr;
  if (found_) match::Matcher::destroy(found_);
  found_ = &show({wanted.context, bits_.source(arrival.bits), bits_.tag(arrival.bits)}, arrival.bytes, 0);
  return found_;
}

match::Unexpected& Offload::extract(const match::Unexpected& found) noexcept {
  Message& message = take(transport::Operation::Kind::look);
  transport::Arrival arrival;
  if (!network_.try_look(message, bits_.pattern(found.key), true, arrival))
    log::die("the network does not give a message out that it has shown");
  message.is_taken = true;
  return show(found.key, arrival.bytes, message.number);
}

void Offload::deliver(ReceiveRequest& request, match::Unexpected& taken) noexcept {
  Offer offer;
  std::memcpy(&offer, taken.payload().data(), sizeof offer);
  match::Matcher::destroy(&taken);
  receive_into(messages_[offer.cookie], request);
}

}  // namespace dunlin::protocol
