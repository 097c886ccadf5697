// See channel.hpp.
#include "transport/shm/channel.hpp"

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "transport/shm/gather.hpp"

namespace dunlin::transport::shm {
namespace {

IntVariable inbox_messages{
    "SHM_INBOX_MESSAGES",
    4,
    "messages",
    "how many messages a pair of ranks exchanges by inbox before it gets a ring of its own",
    0,
    1 << 30};

}  // namespace

Channel::Channel(SenderState& sender, int receiver) noexcept
    : watched_(sender.must_fence ? &sender.always_wanted : &sender.segment.attention(receiver)),
      inbox_messages_left_(int(inbox_messages.get())),
      receiver_(receiver),
      sender_(sender),
      bytes_max_(sender.segment.ring(sender.me, receiver).bytes_max()),
      piece_bytes_max_(sender.segment.ring(sender.me, receiver).piece_bytes_max()) {
  DUNLIN_ASSERT(receiver != sender.me);
}

Sent Channel::try_send_slow(const Envelope& envelope, std::span<const std::byte> head,
                            const Source& data) noexcept {
  DUNLIN_ASSERT(head.size() + data.bytes == envelope.bytes);
  DUNLIN_ASSERT(envelope.bytes <= bytes_max_);
  if (!is_promoted_) {
    if (try_send_by_inbox(envelope, head, data)) return Sent::yes;
    promote();
  }
  if (!ring_.try_write(envelope, head, data)) {
    sender_.wants_room = true;
    return Sent::full;
  }
  wake();
  take_back_later(ring_.next(envelope.bytes));
  return Sent::yes;
}

bool Channel::try_send_by_inbox(const Envelope& envelope, std::span<const std::byte> head,
                                const Source& data) noexcept {
  if (inbox_messages_left_ == 0 || envelope.bytes > sender_.cells.payload_bytes_max()) return false;
  const std::uint64_t offset = sender_.cells.try_take();
  if (offset == 0) return false;
  --inbox_messages_left_;
  Cell& cell = cell_at<Hardware>(sender_.segment.base(), offset);
  cell.sender = std::uint32_t(sender_.me);
  cell.context = envelope.context;
  cell.source = envelope.source;
  cell.tag = envelope.tag;
  cell.bytes = envelope.bytes;
  cell.kind = envelope.kind;
  cell.is_promotion = false;
  Gather(head, data).take(cell.payload(), envelope.bytes);
  append(sender_.segment.inbox(receiver_), sender_.segment.base(), offset);
  wake();
  return true;
}

void Channel::promote() noexcept {
  const std::uint64_t offset = sender_.segment.promotion_cell(sender_.me, receiver_);
  Cell& cell = cell_at<Hardware>(sender_.segment.base(), offset);
  cell.sender = std::uint32_t(sender_.me);
  cell.is_promotion = true;
  append(sender_.segment.inbox(receiver_), sender_.segment.base(), offset);
  ring_ = RingWriter(sender_.segment.ring(sender_.me, receiver_), sender_.rings);
  is_promoted_ =
      true;  // the message that follows at once, or the one that finds room later, looks for sleepers
}

void Channel::attend() noexcept {
  sender_.segment.attention(receiver_).attend(sender_.must_fence, [this]() noexcept {
    // D1 (pairs with D2 in Transport::poll_rings): the lines are visible no later than their doorbell.
    sender_.segment.doorbells(receiver_)[sender_.me].store(ring_.position(), std::memory_order_release);
  });
}

}  // namespace dunlin::transport::shm
