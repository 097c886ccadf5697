// Control messages between two peers, cancelling, and the words for a report of a hang.
#include <cstdio>
#include <cstring>

#include "os/clock.hpp"
#include "protocol/protocol.hpp"
#include "progress/engine.hpp"

namespace dunlin::protocol {

void Protocol::send_control(Peer& peer, const Control& control) noexcept {
  // A peer that failed needs no control messages.
  if (peer.outgoing.is_empty() && peer.try_send(control) != transport::Sent::full) return;
  enqueue(peer, *new PendingControl(control));
}

void Protocol::control_arrived(Peer& peer, const transport::Envelope& envelope,
                               const transport::Payload& payload) noexcept {
  DUNLIN_ASSERT(envelope.bytes >= sizeof(Control));
  Control control;
  payload.copy_to(reinterpret_cast<std::byte*>(&control), 0, sizeof control);
  auto* const send = reinterpret_cast<SendRequest*>(control.a);
  switch (control.kind) {
    case ControlKind::done:
      peer.pushes.learn(send->data.address, Verdict(control.b));
      [[fallthrough]];
    case ControlKind::matched:
      return finish(*send, Err::ok);
    case ControlKind::want_data:
      return data_wanted(*send, control);
    case ControlKind::chunk:
      return chunk_arrived(peer, control, envelope, payload);
    case ControlKind::piece:
      return piece_arrived(peer, envelope, payload);
    case ControlKind::placed:
      return placed_arrived(peer, control.a);
    case ControlKind::hold:
      peer.is_held_back = true;
      return peer.update_eager_bytes_max_now();
    case ControlKind::resume:
      peer.is_held_back = false;
      return peer.update_eager_bytes_max_now();
    case ControlKind::cancel:
      return cancel_wanted(peer, control);
    case ControlKind::cancelled:
      if (control.b == 0) return;  // matched in the meantime: the send completes as any other
      send->completion.is_cancelled = true;
      return finish(*send, Err::ok);
  }
}

void Protocol::data_wanted(SendRequest& request, const Control& control) noexcept {
  DUNLIN_ASSERT(request.stage == SendRequest::Stage::offered);
  DUNLIN_ASSERT(control.c <= request.data.bytes);
  request.stage = SendRequest::Stage::streaming;
  withdraw_offer(request);
  request.receiver_cookie = control.b;
  request.wanted = control.c;
  request.streamed = 0;
  stream(request);  // flushed by the next poll, not here: we are inside the transport's
}

void Protocol::chunk_arrived(Peer& peer, const Control& control, const transport::Envelope& envelope,
                             const transport::Payload& payload) noexcept {
  auto& request = *reinterpret_cast<ReceiveRequest*>(control.a);
  const std::size_t bytes = envelope.bytes - sizeof control;
  DUNLIN_ASSERT(request.streamed + bytes <= request.expected);
  place(request, payload, sizeof control, control.b, bytes);
  request.streamed += bytes;
  if (request.streamed != request.expected) return;
  if (request.asked_ns != 0)
    peer.unmapped.took(CopyContest::channel, request.expected, os::now_ns() - request.asked_ns);
  request.finish();
}

void Protocol::cancel_wanted(Peer& peer, const Control& control) noexcept {
  for (match::Unexpected* each = matcher_.first_arrived(); each; each = each->next_arrived) {
    const bool has_cookie = each->kind == transport::MessageKind::eager_synchronous ||
                            each->kind == transport::MessageKind::rendezvous;
    if (each->peer != peer.index || !has_cookie) continue;
    std::uint64_t cookie;  // the first word of both
    std::memcpy(&cookie, each->payload().data(), sizeof cookie);
    if (cookie != control.a) continue;
    matcher_.remove(*each);
    forget(*each);
    return send_control(peer, {.kind = ControlKind::cancelled, .a = control.a, .b = 1});
  }
  send_control(peer, {.kind = ControlKind::cancelled, .a = control.a, .b = 0});
}

void Protocol::cancel(SendRequest& request) noexcept {
  Peer& peer = *request.peer;
  if (request.stage == SendRequest::Stage::offered && !request.is_cancel_asked) {
    request.is_cancel_asked = true;
    return send_control(peer, {.kind = ControlKind::cancel, .a = reinterpret_cast<std::uint64_t>(&request)});
  }
  if (request.stage != SendRequest::Stage::queued) return;
  peer.outgoing.remove(request);
  peer.update_eager_bytes_max_now();
  request.completion.is_cancelled = true;
  finish(request, Err::ok);
}

void Protocol::cancel(ReceiveRequest& request) noexcept {
  if (request.is_complete || request.is_matched) return;
  matcher_.withdraw_any(request);
  request.completion.is_cancelled = true;
  request.finish();
}

Err SendRequest::cancel() noexcept {
  if (!is_complete) comm->engine->protocol.cancel(*this);
  return Err::ok;
}

Err ReceiveRequest::cancel() noexcept {
  comm->engine->protocol.cancel(*this);
  return Err::ok;
}

bool SendRequest::is_held_back() const noexcept { return peer && peer->is_held_back; }

void SendRequest::describe(char* text, int bytes_max) const noexcept {
  static constexpr const char* kStages[] = {"not started", "waiting for room in the channel",
                                            "waiting for a matching receive", "being copied", "done"};
  std::snprintf(text, std::size_t(bytes_max), "a send of %zu bytes to rank %d of the job, tag %d (%s%s)",
                data.bytes, peer ? peer->index : -1, envelope.tag, kStages[int(stage)],
                peer && peer->is_held_back
                    ? "; that rank holds too many unexpected messages: DUNLIN_UNEXPECTED_BYTES"
                    : "");
}

void ReceiveRequest::describe(char* text, int bytes_max) const noexcept {
  char from[24] = "any source", with[24] = "any tag";
  if (key.source != match::kAny) std::snprintf(from, sizeof from, "rank %d", key.source);
  if (key.tag != match::kAny) std::snprintf(with, sizeof with, "tag %d", key.tag);
  std::snprintf(text, std::size_t(bytes_max), "a receive from %s, %s%s%s", from, with,
                comm && comm->name[0] ? " on " : "", comm ? comm->name : "");
}

}  // namespace dunlin::protocol
