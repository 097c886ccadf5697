#include "protocol/offload.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/little_behind.hpp"
#include "base/log.hpp"
#include "datatype/cursor.hpp"

namespace dunlin::protocol {
namespace {

constexpr transport::Pattern kEverything{.bits = 0, .ignored = ~std::uint64_t(0)};

Offer offer_of(match::Unexpected& message) noexcept {
  Offer offer;
  std::memcpy(&offer, message.payload().data(), sizeof offer);
  return offer;
}

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
  while (match::Unexpected* const message = kept_.first_arrived()) {
    kept_.remove(*message);
    match::Matcher::destroy(message);
  }
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
  message.is_kept = false;
  message.is_withdrawn = false;
  message.copy = Message::Copy::none;
  message.taker_back = nullptr;
  free_.push_back(message.number);
}

void Offload::make_room(Message& message, std::uint64_t bytes) noexcept {
  message.packed.reset(new (std::nothrow) std::byte[bytes + 1]);
  if (!message.packed)
    log::die(
        "out of memory for %llu bytes of a message with gaps, or of one that no receive has asked for yet",
        static_cast<unsigned long long>(bytes));
  message.room = {message.packed.get(), bytes};
}

Err Offload::check_tag(const match::Key& key) const noexcept {
  if (key.tag <= bits_.tag_max() || Plane(key.context & 3) != Plane::point_to_point) [[likely]]
    return Err::ok;
  return fail(Err::tag,
              "tag is %d; where the network matches tags go up to %d, the attribute MPI_TAG_UB of the world",
              key.tag, bits_.tag_max());
}

/// No message comes: the status says what was asked for.
void Offload::end_without(ReceiveRequest& request, Err error) noexcept {
  request.completion.error = error;
  if (request.key.source != match::kAny) request.completion.source = request.key.source;
  if (request.key.tag != match::kAny) request.completion.tag = request.key.tag;
}

transport::Sent Offload::try_start(SendRequest& request) noexcept {
  const match::Key key{request.envelope.context, request.envelope.source, request.envelope.tag};
  if (const Err e = check_tag(key); e != Err::ok) return request.end(e), transport::Sent::yes;
  if (request.data.bytes > network_.bytes_max()) {
    request.end(fail(Err::count,
                     "a message of %zu bytes is longer than the longest that this network matches, %llu "
                     "bytes; DUNLIN_P2P=matching has no such limit",
                     request.data.bytes, static_cast<unsigned long long>(network_.bytes_max())));
    return transport::Sent::yes;
  }
  Peer& peer = *request.peer;
  if (peer.flow.unreleased >= network_.messages_held_max()) [[unlikely]] {
    ask_for_more(peer);
    return network_.is_lost(peer.index) ? transport::Sent::failed : transport::Sent::full;
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
  const transport::Sent sent = network_.try_send(message, peer.index, bits_.pattern(key).bits,
                                                 Note{message.number, is_synchronous}.word(), data);
  if (sent != transport::Sent::yes) return forget(message), sent;
  ++peer.flow.unreleased;
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
  Message& message = messages_[request.opened];
  const std::uint64_t bits = bits_.pattern(key).bits;
  ++message.awaited;  // the answer
  // What this process has sent to itself needs no question, once it is here: programs look at once whether it
  // is cancelled, and receive it otherwise.
  if (request.peer->index == peers_.me() && try_take_back(*request.peer, request.opened, bits))
    return end_cancelled(message);
  peers_.send_control(*request.peer, {.kind = ControlKind::cancel, .a = request.opened, .b = bits});
}

void Offload::ask_for_more(Peer& peer) noexcept {
  Flow& flow = peer.flow;
  if (flow.is_question_open) return;
  const std::uint32_t question = flow.question == UINT32_MAX ? 1 : flow.question + 1;
  if (peer.try_send({.kind = ControlKind::more, .number = question}) != transport::Sent::yes) return;
  flow.question = question;
  flow.is_question_open = true;
}

void Offload::hear_released(Flow& flow, std::uint32_t answered, std::uint32_t count) noexcept {
  if (flow.is_question_open && answered == flow.question) flow.unreleased = 0;
  flow.unreleased -= std::min(flow.unreleased, count);
  // One of an older question leaves the newer one open, which has its own answer.  Asked again here, the next
  // answer would be of an older question, too, and so for ever.
  if (answered == 0 || answered == flow.question) flow.is_question_open = false;
}

/// Where nothing comes, or what has come for long does not help those who ask: takes everything out of the
/// network.
bool Offload::try_answer() noexcept {
  const std::size_t polls_most = asking_.size() * network_.messages_held_max();
  if (std::exchange(has_received_, false) && ++polls_asked_ < polls_most) return false;
  (void)take_out();
  ++answers_;
  for (Peer* const peer : std::exchange(asking_, {})) {
    Flow& flow = peer->flow;
    flow.answer = std::exchange(flow.asked, 0);
    flow.untold = 0;
    flow.answered_after = answers_;
    peers_.send_flow_control(*peer);
  }
  return true;
}

/// The network holds one message of that peer less.
void Offload::count_taken(Peer& peer, const Message& message) noexcept {
  Flow& flow = peer.flow;
  ++flow.received;
  const bool was_answered = message.is_taken && std::int32_t(message.taken_after - flow.answered_after) < 0;
  if (was_answered || ++flow.untold < network_.messages_held_max() / 2) return;
  if (std::exchange(flow.asked, 0) != 0) std::erase(asking_, &peer);
  peers_.send_flow_control(peer);
}

bool Offload::try_hear(Peer& peer, const Control& control) noexcept {
  const auto number = std::uint32_t(control.a);
  switch (control.kind) {
    case ControlKind::matched:
      end_one(messages_[number]);
      return true;
    case ControlKind::more:
      if (asking_.empty()) polls_asked_ = 0;
      if (std::exchange(peer.flow.asked, control.number) == 0) asking_.push_back(&peer);
      return true;
    case ControlKind::released:
      hear_released(peer.flow, control.number, number);
      return true;
    case ControlKind::cancel:
      peers_.send_control(
          peer, {.kind = ControlKind::cancelled, .a = number, .b = try_take_back(peer, number, control.b)});
      return true;
    case ControlKind::cancelled:
      if (control.b != 0)
        end_cancelled(messages_[number]);
      else
        end_one(messages_[number]);  // it was matched in the meantime: the send completes as any other
      return true;
    default:
      return false;
  }
}

/// A send that its receiver has given back.
void Offload::end_cancelled(Message& message) noexcept {
  message.send->completion.is_cancelled = true;
  if (message.send->mode == Mode::synchronous) --message.awaited;  // nobody matches it any more
  end_one(message);
}

/// A sender wants its message back: if nobody has asked for it, it is dropped, so that the network is through
/// with it on both sides.  Others of its kind may have come before: all are taken out.
bool Offload::try_take_back(Peer& sender, std::uint32_t number, std::uint64_t bits) noexcept {
  (void)take_out();
  const match::Key key = bits_.key({.bits = bits});
  match::Unexpected* each = kept_.first_arrived();
  while (each && !(each->key == key && Note::of(std::uint32_t(offer_of(*each).handle)).number == number))
    each = each->next_arrived;
  if (!each) return false;
  Message& message = messages_[offer_of(*each).cookie];
  kept_.remove(*each);
  match::Matcher::destroy(each);
  message.taker_back = &sender;
  if (message.copy == Message::Copy::none)
    drop(message);
  else if (message.copy == Message::Copy::under_way)
    message.copy = Message::Copy::unwanted;
  else
    end_unwanted(message);
  return true;
}

/// Where the data of a receive goes.
void Offload::aim(Message& message, ReceiveRequest& request) noexcept {
  message.receive = &request;
  request.sequence = message.number;
  if (!request.data.is_contiguous())
    make_room(message, request.data.bytes);
  else
    message.room = {request.data.address, request.data.bytes};
  if (message.room.empty()) message.room = {&message.spare, 1};
}

void Offload::post(ReceiveRequest& request) noexcept {
  if (const Err e = check_tag(request.key); e != Err::ok) {
    end_without(request, e);
    return request.finish();
  }
  if (kept_.has_unexpected()) [[unlikely]]
    if (match::Unexpected* const older = kept_.find(bits_.key(bits_.pattern(request.key)))) {
      kept_.remove(*older);
      return deliver(request, *older);
    }
  Message& message = take(transport::Operation::Kind::tagged_receive);
  aim(message, request);
  post(message);
}

void Offload::post(Message& message) noexcept {
  const transport::Pattern wanted = bits_.pattern(message.receive->key);
  const bool has_room = !kept_.has_receives() && posted_ < posted_max_;
  if (has_room && network_.try_receive(message, message.room, wanted)) {
    ++posted_;
    return;
  }
  message.key = bits_.key(wanted);
  message.is_kept = true;
  kept_.post(message);
}

void Offload::cancel(ReceiveRequest& request) noexcept {
  Message& message = messages_[request.sequence];
  DUNLIN_ASSERT(message.receive == &request);
  if (!message.is_kept) {
    message.is_withdrawn = true;
    return network_.cancel(message);
  }
  kept_.withdraw(message);
  forget(message);
  request.completion.is_cancelled = true;
  request.finish();
}

void Offload::receive_taken(Message& message) noexcept {
  if (!waiting_.empty() || !network_.try_receive_taken(message, message.room)) waiting_.push_back(&message);
}

bool Offload::receive_waiting() noexcept {
  const std::size_t before = waiting_.size();
  while (!waiting_.empty() && network_.try_receive_taken(*waiting_.front(), waiting_.front()->room))
    waiting_.pop_front();
  return waiting_.size() < before;
}

/// Everything that has come without a receive.
bool Offload::take_out() noexcept {
  for (bool has_any = false;; has_any = true) {
    Message& message = take(transport::Operation::Kind::look);
    transport::Arrival arrival;
    if (!network_.try_look(message, kEverything, true, arrival)) return forget(message), has_any;
    keep(message, arrival);
  }
}

/// All that was taken counts as the sender's unless it is known to be another one's.
transport::Come Offload::come_from(const Peer& sender) noexcept {
  (void)take_out();
  std::uint32_t seen = sender.flow.received;
  for (const Message& each : messages_) seen += each.is_taken ? 1 : 0;
  for (match::Unexpected* each = kept_.first_arrived(); each; each = each->next_arrived) {
    if (each->peer < 0) each->peer = sender_of(*each);
    seen -= each->peer >= 0 && each->peer != sender.index ? 1 : 0;
  }
  return {.seen = seen, .received = sender.flow.received};
}

/// A message tells its sender's rank in a communicator.  -1: this process has not made it yet.  Looks at all
/// communicators, but for one like that of the message before.
int Offload::sender_of(const match::Unexpected& message) const noexcept {
  const match::Unexpected* const before = message.previous_arrived;
  if (before && before->peer >= 0 && before->key.context == message.key.context &&
      before->key.source == message.key.source)
    return before->peer;
  for (const Comm* comm = Comm::first(); comm; comm = comm->next()) {
    const match::Key key{comm->context | (message.key.context & 3), message.key.source, 0};
    if (key.source < comm->target_size && bits_.key(bits_.pattern(key)).context == message.key.context)
      return comm->target_members[message.key.source];
  }
  return -1;
}

/// For a receive that is kept here, or until one comes: in its own length, as in the network it takes more.
void Offload::keep(Message& message, const transport::Arrival& arrival) noexcept {
  message.is_taken = true;
  message.taken_after = answers_;
  if (arrival.is_foreign) return drop(message);
  match::Unexpected& shown = show(arrival, message.number);
  if (match::Posted* const posted = kept_.take(shown.key)) {
    auto& receive = static_cast<Message&>(*posted);
    ReceiveRequest& request = *receive.receive;
    forget(receive);
    return deliver(request, shown);
  }
  kept_.add(shown);
  if (arrival.bytes > network_.bytes_held_max()) return;
  make_room(message, arrival.bytes);
  if (message.room.empty()) message.room = {&message.spare, 1};
  message.copy = Message::Copy::under_way;
  receive_taken(message);
}

void Offload::end_unwanted(Message& message) noexcept {
  if (message.taker_back) ++message.taker_back->flow.received;
  forget(message);
}

/// The network has to hear that nobody wants it.
void Offload::drop(Message& message) noexcept {
  message.room = {&message.spare, 1};
  receive_taken(message);
}

void Offload::received(transport::Operation& operation, const transport::Arrival& arrival,
                       transport::Received how) noexcept {
  auto& message = static_cast<Message&>(operation);
  has_received_ = true;
  if (message.copy == Message::Copy::under_way && !message.receive) {
    message.copy = Message::Copy::here;
    message.copied = how;
    return;
  }
  if (!message.is_taken) --posted_;
  if (!message.receive) return end_unwanted(message);
  if (how == transport::Received::yes && arrival.is_foreign) {
    log::note("a message that no rank of this job has sent was dropped");
    return post(message);
  }
  end_receive(message, arrival, how);
}

void Offload::end_receive(Message& message, const transport::Arrival& arrival,
                          transport::Received how) noexcept {
  ReceiveRequest& request = *message.receive;
  if (how == transport::Received::yes) {
    complete(message, arrival);
  } else if (how == transport::Received::cancelled && message.is_withdrawn) {
    request.completion.is_cancelled = true;  // else by the network, whose connection has broken
  } else {
    end_without(request, fail(Err::proc_aborted,
                              "the network has lost a message: its sender has ended, or "
                              "the connection to it"));
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
  if (message.packed && !request.data.is_contiguous())
    Cursor(request.data).unpack(message.packed.get(), bytes);
  else if (message.packed && bytes > 0)
    copy_block(request.data.address, message.packed.get(), bytes);
  Peer& sender = peers_.of(request.comm->target_members[request.completion.source]);
  count_taken(sender, message);
  const Note note = Note::of(arrival.note);
  if (note.is_synchronous) peers_.send_control(sender, {.kind = ControlKind::matched, .a = note.number});
}

/// As if it were offered: by its length, by what it is called here, and by what its sender gave along.
match::Unexpected& Offload::show(const transport::Arrival& arrival, std::uint32_t number) noexcept {
  Offer offer;
  offer.cookie = number;
  offer.bytes = arrival.bytes;
  offer.handle = arrival.note;
  match::Unexpected* const message = match::Matcher::create(bits_.key({.bits = arrival.bits}), sizeof offer);
  if (!message) log::die("out of memory for a message that nobody has asked for");
  message->kind = transport::MessageKind::rendezvous;
  message->peer = -1;  // nobody has asked
  std::memcpy(message->payload().data(), &offer, sizeof offer);
  return *message;
}

match::Unexpected* Offload::find(const match::Key& wanted) noexcept {
  const transport::Pattern pattern = bits_.pattern(wanted);
  const bool has_receives = kept_.has_receives();
  if (has_receives) (void)take_out();  // those were posted before
  match::Unexpected* const older = kept_.has_unexpected() ? kept_.find(bits_.key(pattern)) : nullptr;
  if (older || has_receives) return older;
  Message& message = take(transport::Operation::Kind::look);
  transport::Arrival arrival;
  const bool is_there = network_.try_look(message, pattern, false, arrival);
  forget(message);
  if (!is_there) return nullptr;
  if (arrival.is_foreign) return take_out(), find(wanted);  // drops it
  if (found_) match::Matcher::destroy(found_);
  return found_ = &show(arrival, 0);
}

match::Unexpected& Offload::extract(match::Unexpected& found) noexcept {
  if (&found != found_) return kept_.remove(found), found;
  Message& message = take(transport::Operation::Kind::look);
  transport::Arrival arrival;
  if (!network_.try_look(message, {.bits = bits_.bits(found.key)}, true, arrival))
    log::die("the network announced a message and then did not deliver it");
  message.is_taken = true;
  message.taken_after = answers_;
  return show(arrival, message.number);
}

/// The data of a taken message goes to its receive.
void Offload::deliver(ReceiveRequest& request, match::Unexpected& taken) noexcept {
  const Offer offer = offer_of(taken);
  const transport::Arrival arrival{
      .bits = bits_.bits(taken.key), .bytes = offer.bytes, .note = std::uint32_t(offer.handle)};
  Message& message = messages_[offer.cookie];
  match::Matcher::destroy(&taken);
  request.is_matched = true;
  if (message.copy == Message::Copy::none) {
    aim(message, request);
    return receive_taken(message);
  }
  message.receive = &request;
  request.sequence = message.number;
  if (message.copy == Message::Copy::here) end_receive(message, arrival, message.copied);
}

}  // namespace dunlin::protocol
