// Point-to-point where the library matches: a sender and a receiver over transports that carry ordered
// messages.
//
//   whole        payload goes with the envelope, up to Peer::eager_bytes_max
//   offered      the envelope offers the data; the matching receiver takes it (choose.hpp, rendezvous.hpp)
//   held back    a receiver that holds too much unexpected data has its senders offer instead of pushing
//
// Where the network matches (`hand_over_to`), the halves hand what they would match to Offload (offload.hpp),
// and only control messages go by channel.
//
// Called by pt2pt, coll and comm (down), by transports through `Inbox` (up), by the engine between them.
// Documents: Nemesis (N6-N8), OB1 (M2).  Thread safety: all calls under base/big_lock.hpp.
#pragma once

#include "protocol/peers.hpp"
#include "protocol/receiver.hpp"
#include "protocol/rendezvous.hpp"
#include "protocol/sender.hpp"
#include "transport/transport.hpp"

namespace dunlin::protocol {

/// What both halves stand on.
struct Foundation {
  Foundation(int me, int world_size) noexcept : peers(me, world_size), rendezvous(peers) {}
  Peers peers;
  Rendezvous rendezvous;
};

/// Hears of control messages of a layer above, inside a poll: may send and add work to the engine, must not
/// wait.
using ControlHandler = void (*)(const Control& control) noexcept;

class Messaging final : public Foundation, public Sender, public Receiver, public transport::Inbox {
 public:
  Messaging(int me, int world_size) noexcept
      : Foundation(me, world_size), Sender(peers, rendezvous), Receiver(peers, rendezvous) {}

  int me() const noexcept { return peers.me(); }
  /// Before the first control message of that kind can come.
  void set_handler(ControlKind kind, ControlHandler handler) noexcept {
    handlers_[std::size_t(kind)] = handler;
  }
  /// In order of preference; the first that can reach a peer carries its messages.  Not owned.
  void add(transport::Transport& transport) noexcept { peers.add(transport); }
  /// The second engine, before the first message.  Not owned.
  void hand_over_to(Offload& offload) noexcept;
  using Receiver::cancel;
  using Sender::cancel;

  /// hot path: one round besides polling transports: copies one chunk, tries again what waits for room.
  /// Answers whether anything moved.
  bool advance() noexcept {
    const bool has_copied = rendezvous.advance(matcher().has_receives());
    const bool has_posted = offload_ && advance_offload();
    return peers.flush() || has_copied || has_posted;
  }
  /// Whether everything handed over has left this process (finalize waits for it).
  bool is_idle() const noexcept { return peers.is_idle(); }
  /// Whether something goes on only while this process polls.
  bool needs_polls() const noexcept { return !is_idle() || rendezvous.is_copying(); }
  /// How much has begun so far that goes on only while this process polls.
  std::uint64_t begun() const noexcept { return peers.begun_to_wait() + rendezvous.copies(); }

  void arrived(int peer, const transport::Envelope& envelope,
               const transport::Payload& payload) noexcept override {
    if (envelope.kind == transport::MessageKind::control) [[unlikely]]
      return control_arrived(peers.of(peer), envelope, payload);
    message_arrived(peer, envelope, payload);
  }
  void moved(transport::Moved what, std::uint64_t token, bool is_ok) noexcept override {
    if (what == transport::Moved::put || what == transport::Moved::got)
      return accessed(*reinterpret_cast<Request*>(token), is_ok);
    rendezvous.moved(what, token, is_ok);
  }
  void sent(transport::Operation& send, bool is_ok) noexcept override;
  void received(transport::Operation& receive, const transport::Arrival& message,
                transport::Received how) noexcept override;
  transport::Come come_from(int peer) noexcept override;
  bool try_arrive_short(std::uint64_t context, std::uint64_t source_and_tag, const std::byte* payload,
                        std::size_t bytes) noexcept override {
    return short_message_arrived(context, source_and_tag, payload, bytes);
  }

 private:
  void control_arrived(Peer& peer, const transport::Envelope& envelope,
                       const transport::Payload& payload) noexcept;
  bool advance_offload() noexcept;
  /// What a layer above has asked the network for is over: `request` names it.
  static void accessed(Request& request, bool is_ok) noexcept;
  Offload* offload_ = nullptr;                                      // where the network matches
  ControlHandler handlers_[std::size_t(ControlKind::count_)] = {};  // of kinds that layers above use
};

}  // namespace dunlin::protocol
