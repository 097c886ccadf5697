// How a channel finds that messages were lost with a connection which the provider has made anew: the two
// sides compare how many were sent and taken (docs/decisions/0024).  Of those that the network matches its
// receiver knows when it asks; that a long one which has come has ended here, too, this side has to know.
#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/ofi/channel.hpp"

namespace dunlin::transport::ofi {
namespace {

/// Longer than what libfabric 1.17's rxm copies at once: it crashes where such a message fails.
constexpr std::size_t kApartBytes = 512;

constexpr bool is_power_of_two_or_zero(std::uint32_t number) noexcept { return (number & (number - 1)) == 0; }

}  // namespace

/// False: no room.
bool Channel::try_send_apart(FrameKind kind) noexcept {
  Frame* const frame = sender_.frames.try_take();
  if (!frame) return false;
  frame->channel = this;
  FrameHeader header = header_of(kind);
  header.bytes = kApartBytes - sizeof header;
  header.released = frames_taken();
  std::memset(frame->bytes, 0, kApartBytes);
  std::memcpy(frame->bytes, &header, sizeof header);
  std::memcpy(frame->bytes + sizeof header, &tagged_.come, sizeof tagged_.come);
  const Sent sent = result_of(::fi_send(sender_.fabric.endpoint(), frame->bytes, kApartBytes,
                                        sender_.frames.descriptor(), target(), frame));
  if (sent != Sent::yes) sender_.frames.give_back(*frame);
  return sent != Sent::full;
}

void Channel::counts_arrived(const FrameHeader& header, const std::byte* payload, Inbox& inbox) noexcept {
  heard_released(header.released);
  if (header.frame == FrameKind::question) {
    tagged_.come = inbox.come_from(peer_);
    owes_answer_ = true;
    return owe();
  }
  Come there;
  std::memcpy(&there, payload, sizeof there);
  const auto unseen = std::int32_t(tagged_.looked - there.seen);
  const auto not_ended = std::int32_t(there.received - tagged_.ended);
  tagged_.taken_there = tagged_.looked - std::uint32_t(std::max({0, unseen, not_ended}));
  is_answered_ = true;
}

/// A peer that computes answers late, and so does one whose answer or whose question was lost: nobody knows
/// which, so questions without an answer become rare.  One that answers, and has taken no more at several
/// looks, is in the library each time, as we are: nothing is on its way to it any more.  But what it fetches
/// of a long message, which the network has matched, moves in between.
void Channel::compare_counts(bool has_ended, bool has_carried) noexcept {
  if (is_broken() || peer_ == sender_.me) return;
  const bool is_long_unheard = std::int32_t(looked_sent_ - all_taken_there()) > 0;
  const bool has_to_end = std::int32_t(tagged_.looked - tagged_.ended) > 0;
  const bool has_moved = std::exchange(looked_taken_there_, all_taken_there()) != all_taken_there() ||
                         (has_to_end && has_carried);
  const bool was_answered = std::exchange(is_answered_, false);
  looked_sent_ = all_sent();
  tagged_.looked = tagged_.began;
  if (has_moved || was_answered) unanswered_looks_ = 0;
  if (has_moved || !is_long_unheard)
    answers_in_vain_ = 0;
  else if (was_answered)
    ++answers_in_vain_;
  if (is_long_unheard || has_to_end)
    owes_question_ |= has_ended || is_power_of_two_or_zero(unanswered_looks_++);
  else
    unanswered_looks_ = 0;
  if (reads_ring_ && (has_ended || looked_read_ != reader_.read())) owes_released_ = true;
  looked_read_ = reader_.read();
  if (owes_question_ || owes_released_) pay_debts();
}

}  // namespace dunlin::transport::ofi
