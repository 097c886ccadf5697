// Receiving: who gets what arrives, what is kept until somebody asks, and how senders are held back
// meanwhile.
//
// Called by pt2pt, coll and comm (down), by Messaging for what transports deliver (up).  A receiver that
// holds too much unexpected data tells senders to offer instead of pushing; nothing is ever dropped
// (docs/decisions/0001-unexpected-messages-by-offer.md).  Documents: Nemesis (N8), OB1 (M2).
// Thread safety: base/big_lock.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "match/matcher.hpp"
#include "protocol/named_receives.hpp"
#include "protocol/peers.hpp"
#include "protocol/rendezvous.hpp"
#include "protocol/requests.hpp"
#include "transport/transport.hpp"

namespace dunlin::protocol {

class Offload;

class Receiver {
 public:
  Receiver(Peers& peers, Rendezvous& rendezvous) noexcept : peers_(peers), rendezvous_(rendezvous) {}
  ~Receiver();

  /// Starts a receive; `request` must be fresh.  `source` and `tag` may be match::kAny.  It may be complete
  /// on return.
  void receive(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data, int source,
               int tag) noexcept;

  /// The same for a receive that is waited for next: it is matched without ever being queued (row N8).
  /// Answers the peer index to look at first, or -1.
  int receive_next(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data, int source,
                   int tag) noexcept;

  /// hot path: takes a message that is the very next one of `source` straight from its ring, if nothing else
  /// is being matched; looks for it for a while.  False: nothing was received.
  bool try_receive_now(Comm& comm, Plane plane, const Target& data, int source, int tag,
                       Completion& completion) noexcept;

  /// Whether a message may have the tag that a probe asks for: where the network matches there are fewer.
  Err check_probe(Comm& comm, Plane plane, int tag) const noexcept;
  /// The oldest unexpected message that a receive would match, or nullptr; polls nothing.
  match::Unexpected* probe(Comm& comm, Plane plane, int source, int tag) noexcept;
  /// Takes it out of matching (MPI_Mprobe); `receive_matched` delivers what this answers later.
  match::Unexpected& extract(match::Unexpected& message) noexcept;
  void receive_matched(ReceiveRequest& request, Comm& comm, match::Unexpected& message,
                       const Target& data) noexcept;
  /// Bytes of the message that a probe found.
  static std::uint64_t message_bytes(match::Unexpected& message) noexcept;

  void cancel(ReceiveRequest& request) noexcept;
  /// A sender wants its message back: forgotten if it is unmatched.
  void cancel_wanted(Peer& peer, std::uint64_t cookie) noexcept;

  /// A message, not a control message.
  void message_arrived(int peer, const transport::Envelope& envelope,
                       const transport::Payload& payload) noexcept;
  bool short_message_arrived(std::uint64_t context, std::uint64_t source_and_tag, const std::byte* payload,
                             std::size_t bytes) noexcept;

  /// The network matches from now on.
  void hand_over_to(Offload& offload) noexcept {
    offload_ = &offload;
    matcher_.close();
  }

  match::Matcher& matcher() noexcept { return matcher_; }
  NamedReceives named_receives;
  /// How often a blocking receive looks at its sender's ring before it lets other work go on.
  void set_polls_direct(int polls) noexcept { polls_direct_ = polls; }

 private:
  void begin(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data, int source,
             int tag) noexcept;
  bool try_deliver_unexpected(ReceiveRequest& request) noexcept;
  void deliver_kept(ReceiveRequest& request, match::Unexpected& message) noexcept;
  void accept(ReceiveRequest& request, int peer, const transport::Envelope& envelope,
              const transport::Payload& payload) noexcept;
  void keep_unexpected(int peer, const transport::Envelope& envelope,
                       const transport::Payload& payload) noexcept;
  void forget(match::Unexpected& message) noexcept;
  void resume_senders() noexcept;

  Peers& peers_;
  Rendezvous& rendezvous_;
  Offload* offload_ = nullptr;  // the other engine, where it is the job's
  match::Matcher matcher_;
  int polls_direct_ = 1;
  std::vector<Peer*> told_to_hold_;     // senders that offer instead of pushing because of us
  std::uint64_t unexpected_bytes_ = 0;  // memory of unexpected messages
};

}  // namespace dunlin::protocol
