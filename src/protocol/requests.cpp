// What a request does for itself: leave the queue of its peer, be cancelled, describe itself in a report of a
// hang.
#include "protocol/requests.hpp"

#include <cstdio>

#include "progress/engine.hpp"

namespace dunlin::protocol {

transport::Sent SendRequest::try_go() noexcept { return comm->engine->protocol.try_start(*this); }

void SendRequest::go_nowhere() noexcept { end(fail(Err::proc_aborted, "rank %d is gone", peer->index)); }

Err SendRequest::cancel() noexcept {
  if (!is_complete) comm->engine->protocol.cancel(*this);
  return Err::ok;
}

Err ReceiveRequest::cancel() noexcept {
  comm->engine->protocol.cancel(*this);
  return Err::ok;
}

bool SendRequest::is_held_back() const noexcept {
  return (peer && peer->is_held_back) || (copy && copy->waits_for_peer());
}

void SendRequest::describe(char* text, int bytes_max) const noexcept {
  static constexpr const char* kStages[] = {"not started", "waiting for room in the channel",
                                            "waiting for a matching receive", "being copied", "done"};
  const char* why = "";
  if (peer && peer->is_held_back)
    why = "; that rank holds too many unexpected messages: DUNLIN_UNEXPECTED_BYTES";
  else if (copy && copy->waits_for_peer())
    why = "; that rank has been copying for long: is it stopped or dead?";
  std::snprintf(text, std::size_t(bytes_max), "a send of %zu bytes to rank %d of the job, tag %d (%s%s)",
                data.bytes, peer ? peer->index : -1, envelope.tag, kStages[int(stage)], why);
}

void ReceiveRequest::describe(char* text, int bytes_max) const noexcept {
  char from[24] = "any source", with[24] = "any tag";
  if (key.source != match::kAny) std::snprintf(from, sizeof from, "rank %d", key.source);
  if (key.tag != match::kAny) std::snprintf(with, sizeof with, "tag %d", key.tag);
  std::snprintf(text, std::size_t(bytes_max), "a receive from %s, %s%s%s", from, with,
                comm && comm->name[0] ? " on " : "", comm ? comm->name : "");
}

}  // namespace dunlin::protocol
