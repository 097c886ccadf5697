// How a channel finds that frames were lost with a connection which the provider has made anew: the two sides
// compare how many were sent and taken (docs/decisions/0024).
#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#include <cstring>

#include "transport/ofi/channel.hpp"

namespace dunlin::transport::ofi {

/// False: no room.
bool Channel::try_send_apart(FrameKind kind) noexcept {
  Frame* const frame = sender_.frames.try_take();
  if (!frame) return false;
  frame->channel = this;
  FrameHeader header = header_of(kind);
  header.context = all_sent();
  header.released = all_taken();
  std::memcpy(frame->bytes, &header, sizeof header);
  const Sent sent = result_of(::fi_send(sender_.fabric.endpoint(), frame->bytes, sizeof header,
                                        sender_.frames.descriptor(), target(), frame));
  if (sent != Sent::yes) sender_.frames.give_back(*frame);
  if (sent == Sent::yes && kind == FrameKind::question) asked_ = all_sent();
  return sent != Sent::full;
}

void Channel::counts_arrived(const FrameHeader& header) noexcept {
  heard_released(header.released);
  if (header.frame == FrameKind::answer) return;
  to_take_ = std::uint32_t(header.context);
  owes_answer_ = true;
  owe();
}

/// Whoever has sent sees to it that a loss is found: it asks behind what is lost, at the latest at the second
/// look.  Of a connection that was there at one look and not at the next nobody knows whether questions and
/// answers have crossed it: so they are sent anew.
void Channel::compare_counts(bool has_ended) noexcept {
  if (is_broken()) return;
  const bool is_unheard = all_sent() != all_taken_there();
  const bool is_long_unheard = std::int32_t(looked_sent_ - all_taken_there()) > 0;
  owes_question_ |= has_ended ? is_unheard : is_long_unheard && asked_ != all_sent();
  looked_sent_ = all_sent();
  if (reads_ring_ && (has_ended || looked_read_ != reader_.read())) owes_released_ = true;
  looked_read_ = reader_.read();
  if (owes_question_ || owes_released_) pay_debts();
  const bool is_behind = std::int32_t(to_take_ - all_taken()) > 0;
  misses_ |= is_behind && was_behind_ && looked_taken_ == all_taken();
  was_behind_ = is_behind;
  looked_taken_ = all_taken();
}

}  // namespace dunlin::transport::ofi
