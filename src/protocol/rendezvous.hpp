// Messages that are offered: what the sender promises, how the receiver takes it, and what they tell each
// other.
//
// The envelope carries an offer.  The matching receiver chooses how to take it (choose.hpp): both copy
// (shared_copy.hpp), the kernel reads, the network reads or writes, or the sender is asked to send the data
// through the channel.
// Called by sender.cpp and receiver.cpp, by arriving control messages, and by every round of the engine.
// Thread safety: base/big_lock.hpp.
#pragma once

#include <cstdint>

#include "protocol/peers.hpp"
#include "protocol/requests.hpp"
#include "protocol/shared_copy.hpp"
#include "protocol/wire.hpp"
#include "transport/transport.hpp"

namespace dunlin::protocol {

class Rendezvous {
 public:
  explicit Rendezvous(Peers& peers) noexcept : peers_(peers) {}

  /// Sends the envelope of `request` with an offer.  Unless it answers `yes` nothing is under way.
  transport::Sent try_offer(SendRequest& request, Way way) noexcept;
  /// Takes what was offered.
  void accept(ReceiveRequest& request, Peer& peer, const Offer& offer) noexcept;

  void done(SendRequest& request) noexcept;
  void data_wanted(SendRequest& request, const Control& control) noexcept;
  void write_wanted(SendRequest& request, const Control& control) noexcept;
  /// The network has come to an end with what it was asked for.
  void moved(transport::Moved what, std::uint64_t token, bool is_ok) noexcept;
  void chunk_arrived(Peer& peer, const Control& control, const transport::Envelope& envelope,
                     const transport::Payload& payload) noexcept;
  /// The receiver has forgotten the offer.
  void cancelled(SendRequest& request) noexcept;

  /// Whether copies are under way, or may be soon.
  bool is_copying() const noexcept { return !copies_.is_empty(); }
  std::uint64_t copies() const noexcept { return copies_.count(); }
  void lose_patience() noexcept { copies_.lose_patience(); }

  /// hot path: one round; `has_receives`: something of this rank waits for messages.  Answers whether
  /// anything moved.
  bool advance(bool has_receives) noexcept { return !copies_.is_empty() && advance_copies(has_receives); }

 private:
  bool advance_copies(bool has_receives) noexcept;
  void withdraw(SendRequest& request) noexcept;
  bool try_join(ReceiveRequest& request, Peer& peer, const Offer& offer, std::size_t bytes) noexcept;
  bool try_move(ReceiveRequest& request, Peer& peer, const Offer& offer) noexcept;
  bool try_read(ReceiveRequest& request, Peer& peer, const Offer& offer, std::size_t bytes) noexcept;
  void ask_for_data(ReceiveRequest& request, Peer& peer, std::uint64_t cookie) noexcept;
  std::byte* transfers_of(int peer) const noexcept;

  Peers& peers_;
  SharedCopies copies_;
};

}  // namespace dunlin::protocol
