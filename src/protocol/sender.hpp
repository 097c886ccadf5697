// Sending: what goes at once, what is offered, what waits its turn.
//
// Called by pt2pt, coll and comm; by peers.cpp when a message is at the head of its queue.
// Documents: Nemesis (N6), OB1 (M2).  Thread safety: base/big_lock.hpp.
#pragma once

#include "protocol/peers.hpp"
#include "protocol/rendezvous.hpp"
#include "protocol/requests.hpp"

namespace dunlin::protocol {

class Offload;

class Sender {
 public:
  Sender(Peers& peers, Rendezvous& rendezvous) noexcept : peers_(peers), rendezvous_(rendezvous) {}

  /// hot path: a standard-mode send that needs no request.  True when the buffer may be reused already.
  bool try_send_now(Comm& comm, Plane plane, const Source& data, int dest, int tag) noexcept;

  /// Starts a send; `request` must be fresh.  It may be complete on return.
  void send(SendRequest& request, Comm& comm, Plane plane, const Source& data, int dest, int tag,
            Mode mode) noexcept;
  /// Puts the envelope on its way.  The request may be complete, and gone, when this returns `yes`: over the
  /// channel to oneself the receiver's answer comes before try_send returns.
  transport::Sent try_start(SendRequest& request) noexcept;
  void cancel(SendRequest& request) noexcept;
  /// Whether the ranks of this node have CPUs of their own.
  void set_have_own_cpus(bool have) noexcept { have_own_cpus_ = have; }
  /// The network matches from now on.
  void hand_over_to(Offload& offload) noexcept { offload_ = &offload; }

 private:
  transport::Sent try_send_whole(SendRequest& request) noexcept;

  Peers& peers_;
  Rendezvous& rendezvous_;
  bool have_own_cpus_ = true;
  Offload* offload_ = nullptr;  // the other engine, where it is the job's
};

}  // namespace dunlin::protocol
