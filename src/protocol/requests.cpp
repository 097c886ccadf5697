// What a request does for itself: leave the queue of its peer, take data into its buffer, be cancelled,
// describe itself in a report of a hang.
#include "protocol/requests.hpp"

#include <algorithm>
#include <cstdio>

#include "base/assert.hpp"
#include "datatype/cursor.hpp"
#include "object/status.hpp"
#include "protocol/messaging.hpp"

namespace dunlin::protocol {
namespace {

constexpr const char* kStalled = "that rank began to copy and does not go on: was it stopped, or is it dead?";

/// Which communicator, and which message or collective on it.
void explain_place(const Comm& comm, std::uint64_t context, int tag, WaitReason& reason) noexcept {
  const auto plane = Plane(context & 3);
  if (plane == Plane::point_to_point) {
    reason.tag = tag == match::kAny ? WaitReason::kAny : tag;
  } else if (plane == Plane::collective) {
    reason.number = (tag & ((1 << 30) - 1)) + 1;  // without the bit of persistent ones (coll/run.hpp)
  }
  comm.explain(reason);
}

/// A message that has come from where one is awaited, but that this receive does not accept.
void explain_refused(const match::Key& wanted, const Comm& comm, WaitReason& reason) noexcept {
  if (Plane(wanted.context & 3) != Plane::point_to_point) return;
  const match::Unexpected* each = comm.messaging->matcher().first_arrived();
  const auto is_candidate = [&](const match::Unexpected& message) {
    return Plane(message.key.context & 3) == Plane::point_to_point && !message.is_extracted &&
           (reason.peer == WaitReason::kAny || message.peer == reason.peer);
  };
  while (each && !is_candidate(*each)) each = each->next_arrived;
  if (!each) return;
  const bool is_here = each->key.context == wanted.context;
  std::snprintf(reason.hint, sizeof reason.hint,
                "a message from rank %d of the job with tag %d%s has come, which this call does not accept",
                each->peer, each->key.tag, is_here ? "" : " on another communicator");
}

}  // namespace

transport::Sent SendRequest::try_go() noexcept { return comm->messaging->try_start(*this); }

void SendRequest::go_nowhere() noexcept { end(fail(Err::proc_aborted, "rank %d is gone", peer->index)); }

Err SendRequest::cancel() noexcept {
  if (!is_complete) comm->messaging->cancel(*this);
  return Err::ok;
}

Err ReceiveRequest::cancel() noexcept {
  comm->messaging->cancel(*this);
  return Err::ok;
}

std::size_t ReceiveRequest::fit(std::uint64_t bytes) noexcept {
  const std::uint64_t room = data.bytes;
  if (bytes > room) [[unlikely]] {
    completion.error = wrong_length(*comm, key.context, completion, bytes, room);
    refused = bytes;
    has_own_status = true;
    bytes = room;
  }
  return completion.bytes = bytes;
}

Err ReceiveRequest::query(void* status) noexcept {
  set_status(status, completion);
  return wrong_length(*comm, key.context, completion, refused, data.bytes);
}

Err wrong_length(const Comm& comm, std::uint64_t context, const Completion& message, std::uint64_t bytes,
                 std::uint64_t room) noexcept {
  const auto sent = static_cast<unsigned long long>(bytes), asked = static_cast<unsigned long long>(room);
  WaitReason where;
  explain_place(comm, context, message.tag, where);
  if (where.number > 0)
    return fail(sent > asked ? Err::truncate : Err::count,
                "rank %d sent %llu bytes where %llu are to be received, in collective %d on %s: counts or "
                "datatypes differ between ranks",
                message.source, sent, asked, where.number, where.comm);
  return fail(Err::truncate,
              "the message from rank %d of %s, tag %d, has %llu bytes, the receive buffer only room for %llu",
              message.source, where.comm, message.tag, sent, asked);
}

void ReceiveRequest::unpack(std::size_t position, const transport::Payload& payload, std::size_t head,
                            std::size_t bytes) const noexcept {
  DUNLIN_ASSERT(position + bytes <= data.bytes);
  if (bytes == 0) return;
  if (data.is_contiguous()) return payload.copy_to(data.address + position, head, bytes);
  Cursor cursor(data);
  cursor.seek(position);
  const bool is_behind_first = head == payload.first.size() && bytes <= payload.second.size();
  if (is_behind_first || head + bytes <= payload.first.size()) {
    cursor.unpack(is_behind_first ? payload.second.data() : payload.first.data() + head, bytes);
    return;
  }
  for (std::byte part[1024]; bytes > 0;) {
    const std::size_t now = std::min(bytes, sizeof part);
    payload.copy_to(part, head, now);
    cursor.unpack(part, now);
    head += now;
    bytes -= now;
  }
}

void SendRequest::explain(WaitReason& reason) const noexcept {
  static constexpr const char* kStages[] = {"not started", "waiting for room in the channel",
                                            "waiting for a matching receive", "being copied", "done"};
  const Stage now = copy && copy->is_met() ? Stage::streaming : stage;
  std::snprintf(reason.what, sizeof reason.what, "a send of %zu bytes (%s)", data.bytes, kStages[int(now)]);
  if (peer) reason.peer = peer->index;
  if (comm) explain_place(*comm, envelope.context, envelope.tag, reason);
  reason.is_held_back = (peer && peer->is_held_back) || (copy && copy->waits_for_peer());
  if (peer && peer->is_held_back)
    std::snprintf(reason.hint, sizeof reason.hint,
                  "that rank holds too many unexpected messages: DUNLIN_UNEXPECTED_BYTES");
  else if (reason.is_held_back)
    std::snprintf(reason.hint, sizeof reason.hint, "%s", kStalled);
}

void ReceiveRequest::explain(WaitReason& reason) const noexcept {
  std::snprintf(reason.what, sizeof reason.what, "a message of up to %zu bytes", data.bytes);
  if (comm) {
    reason.peer = key.source == match::kAny ? WaitReason::kAny : comm->target_members[key.source];
    explain_place(*comm, key.context, key.tag, reason);
    explain_refused(key, *comm, reason);
  }
  reason.is_held_back = copy && copy->waits_for_peer();
  if (reason.is_held_back) std::snprintf(reason.hint, sizeof reason.hint, "%s", kStalled);
}

}  // namespace dunlin::protocol
