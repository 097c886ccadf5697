#include "protocol/messaging.hpp"

#include "base/assert.hpp"
#include "protocol/offload.hpp"

namespace dunlin::protocol {

void Messaging::hand_over_to(Offload& offload) noexcept {
  offload_ = &offload;
  peers.carry_control_only();
  Sender::hand_over_to(offload);
  Receiver::hand_over_to(offload);
}

bool Messaging::advance_offload() noexcept { return offload_->advance(); }

void Messaging::sent(transport::Operation& send, bool is_ok) noexcept { offload_->sent(send, is_ok); }

void Messaging::received(transport::Operation& receive, const transport::Arrival& message,
                         transport::Received how) noexcept {
  offload_->received(receive, message, how);
}

transport::Come Messaging::come_from(int peer) noexcept {
  return offload_ ? offload_->come_from(peers.of(peer)) : transport::Come{};
}

void Messaging::accessed(Request& request, bool is_ok) noexcept {
  if (!is_ok) request.completion.error = fail(Err::proc_aborted, "the network has lost a rank");
  request.finish();
}

void Messaging::control_arrived(Peer& peer, const transport::Envelope& envelope,
                                const transport::Payload& payload) noexcept {
  DUNLIN_ASSERT(envelope.bytes >= sizeof(Control));
  Control control;
  payload.copy_to(reinterpret_cast<std::byte*>(&control), 0, sizeof control);
  if (offload_ && offload_->try_hear(peer, control)) return;
  auto* const send = reinterpret_cast<SendRequest*>(control.a);
  switch (control.kind) {
    case ControlKind::matched:
    case ControlKind::done:
      return rendezvous.done(*send);
    case ControlKind::want_data:
      return rendezvous.data_wanted(*send, control);
    case ControlKind::write_here:
      return rendezvous.write_wanted(*send, control);
    case ControlKind::chunk:
      return rendezvous.chunk_arrived(peer, control, envelope, payload);
    case ControlKind::hold:
    case ControlKind::resume:
      peer.is_held_back = control.kind == ControlKind::hold;
      return peer.update_eager_bytes_max_now();
    case ControlKind::cancel:
      return cancel_wanted(peer, control.a);
    case ControlKind::cancelled:
      // Otherwise it was matched in the meantime: the send completes as any other.
      if (control.b != 0) rendezvous.cancelled(*send);
      return;
    case ControlKind::more:
    case ControlKind::released:
    case ControlKind::one_sided:
    case ControlKind::count_:
      break;
  }
  const ControlHandler handler = handlers_[std::size_t(control.kind)];
  DUNLIN_ASSERT(handler != nullptr);
  handler(control);
}

}  // namespace dunlin::protocol
