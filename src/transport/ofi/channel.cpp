#include "transport/ofi/channel.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "copy/copy.hpp"
#include "datatype/cursor.hpp"
#include "heap/heap.hpp"
#include "os/clock.hpp"
#include "transport/ofi/lifelines.hpp"

namespace dunlin::transport::ofi {
namespace {

IntVariable messages_before_ring{
    "OFI_MESSAGES", 8, "messages", "how many messages go to a peer on another node before it gets a ring", 0,
    1 << 30};

/// Buffers of a peer that were named and never used, as of messages that were cut short.
constexpr std::size_t kHeardMost = 4096;

/// Of what the connection itself is made there are few, and a peer may be waiting for them.
bool needs_credit(FrameKind kind) noexcept {
  return kind == FrameKind::message || kind == FrameKind::message_of_buffers || kind == FrameKind::batch;
}

std::size_t bytes_in_batch(const Envelope& envelope) noexcept {
  return sizeof envelope + (envelope.bytes + std::size_t{7}) / 8 * 8;
}

/// What is sent without a frame: copied to the stack, and by the provider from there.
constexpr std::size_t kInjectBytesMax = 256;

class FramePayload final : public Payload {
 public:
  FramePayload(const std::byte* data, std::size_t bytes) noexcept { first = {data, bytes}; }
  void copy_to(std::byte* to, std::size_t from, std::size_t bytes) const noexcept override {
    DUNLIN_ASSERT(from + bytes <= first.size());
    if (bytes > 0) copy::bytes(to, first.data() + from, bytes);  // an empty message may have no buffer
  }
};

std::size_t bytes_of_told(std::size_t buffers) noexcept {
  return buffers == 0 ? 0 : sizeof(std::uint64_t) + buffers * sizeof(OpenedBuffer);
}

void pack(std::byte* to, std::span<const std::byte> head, const Source& data) noexcept {
  if (!head.empty()) std::memcpy(to, head.data(), head.size());
  if (data.bytes == 0) return;
  if (data.is_contiguous()) return copy::bytes(to + head.size(), data.address, data.bytes);
  Cursor cursor(data);
  cursor.seek(data.position);
  cursor.pack(to + head.size(), data.bytes);
}

}  // namespace

Channel::Channel(Sender& sender, int peer, std::uint32_t number, Address address,
                 const std::vector<std::uint64_t>& targets) noexcept
    : sender_(sender),
      peer_(peer),
      number_(number),
      address_(std::move(address)),
      messages_left_(int(messages_before_ring.get())) {
  for (const std::uint64_t target : targets) ways_.push_back({.target = target});
}

FrameHeader Channel::header_of(FrameKind kind) noexcept {
  return {.secret = sender_.secret, .frame = kind, .sender = sender_.me};
}

Sent Channel::try_send(const Envelope& envelope, std::span<const std::byte> head,
                       const Source& data) noexcept {
  DUNLIN_ASSERT(head.size() + data.bytes == envelope.bytes);
  DUNLIN_ASSERT(envelope.bytes <= bytes_max());
  if (is_broken()) return Sent::failed;
  if (sender_.stage.has_ring && !is_promoted_ && !try_promote()) return Sent::full;
  if (is_batching_ && untold_.empty() && bytes_in_batch(envelope) <= bytes_max())
    return try_batch(envelope, head, data);
  FrameHeader header = header_of(FrameKind::message);
  header.context = envelope.context;
  header.source = envelope.source;
  header.tag = envelope.tag;
  header.bytes = envelope.bytes;
  header.kind = envelope.kind;
  return try_send_frame(header, head, data);
}

/// `has_to_tell`: when it has left.
Sent Channel::try_send_frame(const FrameHeader& header, std::span<const std::byte> head, const Source& data,
                             bool has_to_tell) noexcept {
  if (!try_send_batch() || !has_room(header.frame)) return Sent::full;
  const std::size_t told = told_with(header), told_bytes = bytes_of_told(told);
  const std::size_t bytes = sizeof header + told_bytes + header.bytes;
  alignas(8) std::byte copy[kInjectBytesMax];
  Frame* frame = nullptr;  // none: the provider copies the bytes before it returns
  if (has_to_tell || bytes > std::min(kInjectBytesMax, sender_.fabric.inject_bytes_max())) {
    frame = sender_.frames.try_take();
    if (!frame) return Sent::full;
    frame->channel = this;
  }
  std::byte* const at = frame ? frame->bytes : copy;
  std::memcpy(at, &header, sizeof header);
  if (told > 0) [[unlikely]]
    write_told(at, told);
  pack(at + sizeof header + told_bytes, head, data);
  const Sent sent = try_leave(frame, at, bytes);
  if (sent == Sent::yes) {
    untold_.erase(untold_.begin(), untold_.begin() + std::ptrdiff_t(told));
    sender_.fabric.counters.copied_bytes += header.bytes;
  } else if (frame) {
    sender_.frames.give_back(*frame);
  }
  return sent;
}

/// Sends a frame, in whose header its place and our news are still missing.
Sent Channel::try_leave(Frame* frame, std::byte* bytes, std::size_t count) noexcept {
  const auto sequence = std::uint16_t(frames_sent());
  const std::uint32_t released = frames_taken();
  std::memcpy(bytes + offsetof(FrameHeader, sequence), &sequence, sizeof sequence);
  std::memcpy(bytes + offsetof(FrameHeader, released), &released, sizeof released);
  const Sent sent = is_promoted_ ? try_write(frame, bytes, count) : try_send_by_message(frame, bytes, count);
  if (sent == Sent::yes) {
    reader_.report();
    reported_ = taken_;
    if (!frame) note_injected();
  }
  return sent;
}

void Channel::note_injected() noexcept {
  if (std::exchange(is_untold_of_, true)) [[likely]]
    return;
  sender_.untold_of.push_back(this);
}

void Channel::flush() noexcept {
  is_untold_of_ = false;
  if (is_broken() || std::exchange(owes_flush_, true)) return;
  flush_since_ns_ = os::now_ns();
  ++sender_.flushes_owed;
  pay_debts();
}

/// Puts a message to those that leave together; what there was may have to leave first.
Sent Channel::try_batch(const Envelope& envelope, std::span<const std::byte> head,
                        const Source& data) noexcept {
  const std::size_t bytes = bytes_in_batch(envelope);
  if (batch_ && batch_bytes_ + bytes > bytes_max() && !try_send_batch()) return Sent::full;
  if (!batch_) {
    if (is_broken()) return Sent::failed;
    if (!has_room(FrameKind::batch)) return Sent::full;
    batch_ = sender_.frames.try_take();
    if (!batch_) return Sent::full;
    batch_->channel = this;
    batch_bytes_ = 0;
  }
  std::byte* const at = batch_->bytes + sizeof(FrameHeader) + batch_bytes_;
  std::memcpy(at, &envelope, sizeof envelope);
  pack(at + sizeof envelope, head, data);
  batch_bytes_ += bytes;
  sender_.fabric.counters.copied_bytes += envelope.bytes;
  return Sent::yes;
}

/// False: what has come together is still here.
bool Channel::try_send_batch() noexcept {
  if (!batch_) [[likely]]
    return true;
  DUNLIN_ASSERT(has_room(FrameKind::batch));
  FrameHeader header = header_of(FrameKind::batch);
  header.bytes = std::uint32_t(batch_bytes_);
  std::memcpy(batch_->bytes, &header, sizeof header);
  const Sent sent =
      is_broken() ? Sent::failed : try_leave(batch_, batch_->bytes, sizeof header + batch_bytes_);
  if (sent == Sent::full) return false;
  if (sent == Sent::failed) sender_.frames.give_back(*batch_);
  batch_ = nullptr;
  return true;
}

/// How many buffers travel with this frame.
std::size_t Channel::told_with(const FrameHeader& header) const noexcept {
  if (untold_.empty() || header.frame != FrameKind::message) [[likely]]
    return 0;
  const std::size_t room = bytes_max() - header.bytes;
  return room < bytes_of_told(1)
             ? 0
             : std::min(untold_.size(), (room - sizeof(std::uint64_t)) / sizeof(OpenedBuffer));
}

/// Between header and message; the count in front.
void Channel::write_told(std::byte* frame, std::size_t told) const noexcept {
  FrameHeader header;
  std::memcpy(&header, frame, sizeof header);
  header.frame = FrameKind::message_of_buffers;
  header.bytes += std::uint32_t(bytes_of_told(told));
  std::memcpy(frame, &header, sizeof header);
  const std::uint64_t count = told;
  std::memcpy(frame + sizeof header, &count, sizeof count);
  std::byte* at = frame + sizeof header + sizeof count;
  for (std::size_t index = 0; index < told; ++index, at += sizeof(OpenedBuffer))
    std::memcpy(at, &untold_[index].buffer, sizeof(OpenedBuffer));
}

/// Answers where the message begins.
const std::byte* Channel::hear(const std::byte* payload) noexcept {
  std::uint64_t count;
  std::memcpy(&count, payload, sizeof count);
  payload += sizeof count;
  for (; count > 0; --count, payload += sizeof(OpenedBuffer)) {
    if (heard_.size() == kHeardMost) heard_.pop_front();
    std::memcpy(&heard_.emplace_back(), payload, sizeof(OpenedBuffer));
  }
  return payload;
}

/// All that is known of a buffer of the peer: its name on the first device at least.
OpenedBuffer Channel::heard_of(const RemoteBuffer& buffer) noexcept {
  const BufferPart first{buffer.address, buffer.key};
  OpenedBuffer found{{first}};
  const auto heard = std::find_if(heard_.rbegin(), heard_.rend(),
                                  [&](const OpenedBuffer& each) noexcept { return each.parts[0] == first; });
  if (heard == heard_.rend()) return found;
  found = *heard;
  heard_.erase(std::next(heard).base());
  return found;
}

void Channel::tell(const OpenedBuffer& buffer, std::size_t devices, std::uint64_t opened) noexcept {
  if (devices > 1) untold_.push_back({buffer, opened});
}

std::uint64_t Channel::try_open_for_reads(const std::byte* at, std::size_t bytes,
                                          RemoteBuffer& buffer) noexcept {
  const std::size_t devices = devices_for(bytes);
  OpenedBuffer parts;
  const std::uint64_t opened = sender_.transfers.try_open(at, bytes, devices, parts);
  if (opened == 0) return 0;
  tell(parts, devices, opened);
  buffer = {parts.parts[0].address, parts.parts[0].key};
  return opened;
}

/// By the first device alone.
std::uint64_t Channel::try_open_for_all(std::byte* at, std::size_t bytes, RemoteBuffer& buffer) noexcept {
  OpenedBuffer parts;
  const std::uint64_t opened = sender_.transfers.try_open(at, bytes, 1, parts);
  buffer = {parts.parts[0].address, parts.parts[0].key};
  return opened;
}

void Channel::close(std::uint64_t opened) noexcept {
  if (!untold_.empty()) std::erase_if(untold_, [&](const Untold& each) { return each.opened == opened; });
  sender_.transfers.close(opened);
}

bool Channel::try_open_for_write(std::byte* at, std::size_t bytes, std::uint64_t token,
                                 RemoteBuffer& buffer) noexcept {
  const std::size_t devices = devices_for(bytes);
  OpenedBuffer parts;
  if (!sender_.transfers.try_open_for_write(at, bytes, devices, token, parts, buffer.number)) return false;
  tell(parts, devices, 0);
  buffer.address = parts.parts[0].address;
  buffer.key = parts.parts[0].key;
  return true;
}

Sent Channel::try_send_by_message(Frame* frame, const std::byte* bytes, std::size_t count) noexcept {
  fid_ep* const endpoint = sender_.fabric.endpoint();
  const ssize_t code = frame ? ::fi_send(endpoint, bytes, count, sender_.frames.descriptor(), target(), frame)
                             : ::fi_inject(endpoint, bytes, count, target());
  const Sent sent = result_of(code);
  if (sent == Sent::yes) {
    ++sent_;
    ++sender_.fabric.counters.messages;
  }
  return sent;
}

/// Into the next slot of the peer's ring.
Sent Channel::try_write(Frame* frame, const std::byte* bytes, std::size_t count) noexcept {
  const std::uint32_t slot = writer_.next_slot();
  const std::uint64_t to = theirs_.address + sizeof(Mailbox) + slot * sender_.stage.frame_bytes;
  const std::uint64_t notice = Notice{Notice::Kind::frame, theirs_.number, slot}.word();
  fid_ep* const endpoint = sender_.fabric.endpoint();
  void* const memory = sender_.frames.descriptor();
  ssize_t code;
  if (sender_.stage.is_piggybacked)
    code = frame ? ::fi_writedata(endpoint, bytes, count, memory, notice, target(), to, theirs_.key, frame)
                 : ::fi_inject_writedata(endpoint, bytes, count, notice, target(), to, theirs_.key);
  else
    code = frame ? ::fi_write(endpoint, bytes, count, memory, target(), to, theirs_.key, frame)
                 : ::fi_inject_write(endpoint, bytes, count, target(), to, theirs_.key);
  const Sent sent = result_of(code);
  if (sent != Sent::yes) return sent;
  writer_.wrote();
  ++sender_.fabric.counters.writes;
  if (!sender_.stage.is_piggybacked) {
    owes_written_ = true;
    pay_debts();
  }
  return Sent::yes;
}

/// Into the peer's mailbox.
bool Channel::try_write_word(const std::uint64_t& word, std::size_t at, const Notice& notice) noexcept {
  const ssize_t code = ::fi_inject_writedata(sender_.fabric.endpoint(), &word, sizeof word, notice.word(),
                                             target(), theirs_.address + at, theirs_.key);
  const Sent sent = result_of(code);
  if (sent == Sent::yes) ++sender_.fabric.counters.words;
  return sent != Sent::full;
}

Sent Channel::result_of(std::int64_t code) noexcept {
  if (code == 0) return tried(0, true), Sent::yes;
  if (code == -FI_EAGAIN) return tried(0, false), Sent::full;
  broke(sender_.fabric.text_of(int(code)));
  return Sent::failed;
}

void Channel::tried(std::size_t device, bool has_left) noexcept {
  Way& way = ways_[device];
  if (has_left)
    way.is_reached = true;
  else if (!way.is_reached && way.tried_since_ns == 0)
    way.tried_since_ns = os::now_ns();
}

bool Channel::is_unreached_for(std::size_t device, std::int64_t ns) const noexcept {
  const Way& way = ways_[device];
  return !way.is_reached && way.tried_since_ns != 0 && os::now_ns() - way.tried_since_ns >= ns;
}

bool Channel::try_transfer(std::byte* local, std::size_t bytes, const RemoteBuffer& remote,
                           std::uint64_t token, Moved end) noexcept {
  if (is_broken()) return false;
  auto transfer = std::make_unique<Transfer>();
  transfer->channel = this;
  transfer->local = local;
  transfer->bytes = bytes;
  transfer->number = remote.number;
  transfer->token = token;
  transfer->end = end;
  transfer->remote =
      transfer->is_one_sided() ? OpenedBuffer{{{remote.address, remote.key}}} : heard_of(remote);
  transfer->devices = transfer->remote.parts[1] == BufferPart{} ? 1 : devices_for(bytes);
  return sender_.transfers.try_begin(std::move(transfer));
}

/// Before a frame that could go by ring: false where it has to wait until the way is clear.
bool Channel::try_promote() noexcept {
  if (messages_left_ > 0) return --messages_left_, true;
  if (!block_ && !try_make_ring()) return true;
  if (!has_offer_ || owes_offer_) return true;  // until then by message
  const FrameHeader header = header_of(FrameKind::promotion);
  if (try_send_frame(header, {}, {}) != Sent::yes) return false;
  is_promoted_ = true;
  return true;
}

/// For the peer's frames; it hears of it when there is room.
bool Channel::try_make_ring() noexcept {
  if (sender_.rings_left == 0 || number_ >> Notice::kNumberBits) return false;
  const std::size_t bytes = sizeof(Mailbox) + sender_.stage.slots * sender_.stage.frame_bytes;
  const heap::LateCommit late;  // short messages touch a page of each slot
  block_.reset(new std::byte[bytes]);
  std::memset(block_.get(), 0, sizeof(Mailbox));
  region_ = sender_.fabric.try_register(block_.get(), bytes, true);
  if (!region_) {
    block_.reset();
    sender_.rings_left = 0;  // the device has no more room
    return false;
  }
  --sender_.rings_left;
  reader_ = RingReader(sender_.stage.slots);
  owes_offer_ = true;
  owe();
  return true;
}

Frame* Channel::take_next() noexcept {
  for (Frame*& each : kept_) {
    FrameHeader header;
    std::memcpy(&header, each->bytes, sizeof header);
    if (header.sequence != std::uint16_t(taken_)) continue;
    ++taken_;
    Frame* const next = std::exchange(each, kept_.back());
    kept_.pop_back();
    return next;
  }
  return nullptr;
}

void Channel::frame_arrived(const FrameHeader& header, const std::byte* payload, Inbox& inbox) noexcept {
  heard_released(header.released);
  if (unreported() >= kMessagesMost / 2) {
    owes_credit_ = true;
    owe();
  }
  switch (header.frame) {
    case FrameKind::message:
    case FrameKind::message_of_buffers: {
      const std::byte* const message = header.frame == FrameKind::message ? payload : hear(payload);
      const auto bytes = header.bytes - std::uint32_t(message - payload);
      sender_.fabric.counters.copied_bytes += bytes;
      return inbox.arrived(peer_, {header.context, header.source, header.tag, bytes, header.kind},
                           FramePayload(message, bytes));
    }
    case FrameKind::batch:
      return messages_arrived({payload, header.bytes}, inbox);
    case FrameKind::ring_offer:
      DUNLIN_ASSERT(header.bytes == sizeof theirs_);
      std::memcpy(&theirs_, payload, sizeof theirs_);
      writer_ = RingWriter(sender_.stage.slots);
      has_offer_ = true;
      if (!block_) (void)try_make_ring();
      return;
    case FrameKind::promotion:
      DUNLIN_ASSERT(block_ != nullptr);
      reads_ring_ = true;
      return;
    case FrameKind::credit:
    case FrameKind::question:
    case FrameKind::answer:
      return;
  }
}

bool Channel::has_room(FrameKind kind) const noexcept {
  return is_promoted_ ? writer_.has_room() : !needs_credit(kind) || sent_ - taken_there_ < kMessagesMost;
}

/// Of a batch.
void Channel::messages_arrived(std::span<const std::byte> batch, Inbox& inbox) noexcept {
  while (!batch.empty()) {
    Envelope envelope;
    DUNLIN_ASSERT(batch.size() >= sizeof envelope);
    std::memcpy(&envelope, batch.data(), sizeof envelope);
    const std::size_t bytes = bytes_in_batch(envelope);
    DUNLIN_ASSERT(batch.size() >= bytes);
    sender_.fabric.counters.copied_bytes += envelope.bytes;
    inbox.arrived(peer_, envelope, FramePayload(batch.data() + sizeof envelope, envelope.bytes));
    batch = batch.subspan(bytes);
  }
}

/// Old news are none.
void Channel::heard_released(std::uint32_t released) noexcept {
  const std::uint32_t of_ring = released - sent_, more = released - taken_there_;
  if (is_promoted_ && of_ring <= std::uint32_t(writer_.written()))
    heard_read(of_ring);
  else if (more <= sent_ - taken_there_)
    taken_there_ += more;
}

/// The peer has read so many frames of its ring: so it has taken all messages before.
void Channel::heard_read(std::uint32_t frames) noexcept {
  taken_there_ = sent_;
  writer_.heard_released(frames);
}

bool Channel::try_note(const Notice& notice) noexcept {
  if (!block_ || notice.slot >= sender_.stage.slots) return false;
  const auto& mailbox = *reinterpret_cast<const Mailbox*>(block_.get());
  if (notice.kind == Notice::Kind::released)
    heard_read(std::uint32_t(mailbox.released));
  else if (sender_.stage.is_piggybacked)
    reader_.filled(notice.slot);
  else
    reader_.filled_until(mailbox.written);
  return true;
}

int Channel::read_ring(Inbox& inbox) noexcept {
  if (!reads_ring_) return 0;
  int messages = 0;
  while (reader_.has_next()) {
    const std::byte* const at =
        block_.get() + sizeof(Mailbox) + reader_.next_slot() * sender_.stage.frame_bytes;
    FrameHeader header;
    std::memcpy(&header, at, sizeof header);
    if (header.sequence != std::uint16_t(frames_taken())) [[unlikely]]  // basic: told of, and it has not come
      return misses_ = true, messages;
    DUNLIN_ASSERT(header.bytes <= bytes_max());
    frame_arrived(header, at + sizeof header, inbox);
    reader_.read_next();
    ++messages;
    const std::uint64_t limit = sender_.stage.is_piggybacked ? sender_.stage.slots / 2 : 1;
    if (reader_.unreported() < limit) continue;
    owes_released_ = true;
    pay_debts();
  }
  return messages;
}

/// Each by itself: one that finds no room keeps no other back, which the peer may be waiting for.
bool Channel::try_pay_debts() noexcept {
  if (is_broken()) {
    if (std::exchange(owes_flush_, false)) --sender_.flushes_owed;
    return true;
  }
  if (owes_offer_) {
    FrameHeader header = header_of(FrameKind::ring_offer);
    const RingOffer offer{
        .address = region_.remote_address(block_.get()), .key = region_.key(), .number = number_};
    header.bytes = sizeof offer;
    owes_offer_ = try_send_frame(header, std::as_bytes(std::span(&offer, 1)), {}) == Sent::full;
  }
  if (owes_credit_)
    owes_credit_ = unreported() >= kMessagesMost / 2 &&
                   try_send_frame(header_of(FrameKind::credit), {}, {}) == Sent::full;
  if (owes_answer_) owes_answer_ = !try_send_apart(FrameKind::answer);
  if (owes_question_) owes_question_ = !try_send_apart(FrameKind::question);
  if (std::exchange(owes_flush_, false)) {  // before it leaves, which may make other debts, and pays them
    // A peer that has gone without a word takes nothing any more, and its provider tells nobody.
    const std::int64_t patience_ns = Lifelines::silence_ns();
    const bool is_in_vain = patience_ns > 0 && os::now_ns() - flush_since_ns_ > patience_ns;
    const bool has_gone = try_send_frame(header_of(FrameKind::credit), {}, {}, true) != Sent::full;
    owes_flush_ = !has_gone && !is_in_vain;
    if (!owes_flush_) --sender_.flushes_owed;
  }
  if (owes_written_)
    owes_written_ =
        !try_write_word(writer_.written(), offsetof(Mailbox, written), {Notice::Kind::frame, theirs_.number});
  if (owes_released_ && has_offer_ &&
      try_write_word(reader_.read(), offsetof(Mailbox, released), {Notice::Kind::released, theirs_.number})) {
    reader_.report();
    owes_released_ = false;
  }
  return !owes_offer_ && !owes_credit_ && !owes_answer_ && !owes_question_ && !owes_flush_ &&
         !owes_written_ && !owes_released_;
}

void Channel::pay_debts() noexcept {
  if (!try_pay_debts()) owe();
}

void Channel::owe() noexcept {
  if (std::exchange(is_debtor_, true)) return;
  sender_.debtors.push_back(this);
}

void Channel::broke(const char* why) noexcept {
  if (is_broken()) return;
  broken_since_ns_ = os::now_ns();
  (void)fail(Err::other, "the network has lost rank %d (%s, %s): %s", peer_, address_.provider.c_str(),
             address_.place.c_str(), why);
  log::warn("%s", error_detail(Err::other));
}

}  // namespace dunlin::transport::ofi
