// What a request does for itself: leave the queue of its peer, take data into its buffer, be cancelled,
// describe itself in a report of a hang.
#include "protocol/requests.hpp"

#include <algorithm>
#include <cstdio>

#include "base/assert.hpp"
#include "datatype/cursor.hpp"
#include "protocol/messaging.hpp"

namespace dunlin::protocol {
namespace {

constexpr const char* kStalled = "; that rank has begun to copy and does not go on: is it stopped or dead?";

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
    completion.error =
        fail(Err::truncate, "the message has %llu bytes, the receive buffer only room for %llu",
             static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(room));
    bytes = room;
  }
  return completion.bytes = bytes;
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

bool SendRequest::is_held_back() const noexcept {
  return (peer && peer->is_held_back) || (copy && copy->waits_for_peer());
}

bool ReceiveRequest::is_held_back() const noexcept { return copy && copy->waits_for_peer(); }

void SendRequest::describe(char* text, int bytes_max) const noexcept {
  static constexpr const char* kStages[] = {"not started", "waiting for room in the channel",
                                            "waiting for a matching receive", "being copied", "done"};
  const char* why = "";
  if (peer && peer->is_held_back)
    why = "; that rank holds too many unexpected messages: DUNLIN_UNEXPECTED_BYTES";
  else if (copy && copy->waits_for_peer())
    why = kStalled;
  std::snprintf(text, std::size_t(bytes_max), "a send of %zu bytes to rank %d of the job, tag %d (%s%s)",
                data.bytes, peer ? peer->index : -1, envelope.tag, kStages[int(stage)], why);
}

void ReceiveRequest::describe(char* text, int bytes_max) const noexcept {
  char from[24] = "any source", with[24] = "any tag";
  if (key.source != match::kAny) std::snprintf(from, sizeof from, "rank %d", key.source);
  if (key.tag != match::kAny) std::snprintf(with, sizeof with, "tag %d", key.tag);
  std::snprintf(text, std::size_t(bytes_max), "a receive from %s, %s%s%s%s", from, with,
                comm && comm->name[0] ? " on " : "", comm ? comm->name : "",
                copy && copy->waits_for_peer() ? kStalled : "");
}

}  // namespace dunlin::protocol
