// The second engine of point-to-point: the network matches (DUNLIN_P2P=offload).
//
// Every message of the job, also to a rank of the same machine and to oneself, is one tagged message of the
// network from the sender's buffer into the receiver's (transport/tagged.hpp); context, source and tag are
// bits of it (match_bits.hpp).  What both engines share is not here: requests and their completion, the queue
// to a peer, control messages, buffered sends (Sender, Receiver and Peers); they hand over here what they
// would match themselves.  Data with gaps is packed, and unpacked, in memory of its own.
//
// A network has room for so many receives.  Beyond it, and where a sender wants a message back, this rank
// takes what has come out of the network, oldest first, and matches it itself (`kept_`).  Invariants: 1.
// Messages that are kept came before all that the network still holds.  2. While receives are kept, so is
// every later one, and all that comes is taken out for them: the network looks first at receives that were
// posted before.
//
// What comes before its receive costs the network much memory, however short it is.  So it holds a limited
// number of messages from each sender, who counts them and hears of those that were taken (Flow).  A sender
// at the limit asks for more, and waits; where this rank has nothing else to do meanwhile, it takes all that
// has come into memory of its own, in its own length: what its receives wait for may come behind that.
//
// Control messages go by channel: that a synchronous message was matched (its note asks for it and names it),
// that a sender wants a message back, and both sides of that flow control.
// Document: Portals matching (row M3 of docs/sources.md).  Thread safety: base/big_lock.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "match/matcher.hpp"
#include "protocol/match_bits.hpp"
#include "protocol/peers.hpp"
#include "protocol/requests.hpp"
#include "transport/tagged.hpp"
#include "transport/transport.hpp"

namespace dunlin::protocol {

class Offload {
 public:
  /// `network` is not owned.
  Offload(Peers& peers, transport::Tagged& network, const MatchBits& bits) noexcept
      : peers_(peers), network_(network), bits_(bits), posted_max_(posted_max(network.receives_max())) {}
  ~Offload();
  Offload(const Offload&) = delete;

  /// Hands the message to the network.
  transport::Sent try_start(SendRequest& request) noexcept;
  /// Asks for it back; the receiver answers.
  void cancel(SendRequest& request) noexcept;
  void post(ReceiveRequest& request) noexcept;
  void cancel(ReceiveRequest& request) noexcept;

  /// The network would take a tag that does not fit for another one.
  Err check_tag(const match::Key& key) const noexcept;
  /// The oldest message that has come and that nobody has asked for, or nullptr.  Good until the next call.
  match::Unexpected* find(const match::Key& wanted) noexcept;
  /// Takes it out of matching, for `deliver`.
  match::Unexpected& extract(match::Unexpected& found) noexcept;
  void deliver(ReceiveRequest& request, match::Unexpected& message) noexcept;

  // What comes from the network, and from the other side's Offload.
  void sent(transport::Operation& operation, bool is_ok) noexcept;
  void received(transport::Operation& operation, const transport::Arrival& arrival,
                transport::Received how) noexcept;
  transport::Come come_from(const Peer& sender) noexcept;
  /// False: not for us.
  bool try_hear(Peer& peer, const Control& control) noexcept;

  /// Takes messages out of the network where that is needed, and tries again what found no room; answers
  /// whether anything moved.
  bool advance() noexcept {
    const bool has_taken = kept_.has_receives() && take_out();
    const bool has_received = !waiting_.empty() && receive_waiting();
    const bool has_answered = !asking_.empty() && try_answer();
    return has_taken || has_received || has_answered;
  }

 private:
  /// Taken messages are received in room that is left for them; they end without others.
  static constexpr std::size_t posted_max(std::size_t receives_max) noexcept {
    return receives_max - std::min<std::size_t>(receives_max / 2, 64);
  }

  /// One message under way, here the sender's or the receiver's; as `Posted` a receive that is kept here.
  struct Message : transport::Operation, match::Posted {
    std::uint32_t number = 0;     // of this message among messages_
    SendRequest* send = nullptr;  // the request of one side; none: the data is dropped
    ReceiveRequest* receive = nullptr;
    std::unique_ptr<std::byte[]> packed;
    std::span<std::byte> room;  // of a receive: the program's buffer, `packed` or `spare`
    bool is_taken = false;      // of a receive: the message was taken out of matching before
    bool is_kept = false;       // of a receive: in `kept_`, not in the network
    bool is_withdrawn = false;  // of a receive: the network was asked to cancel it
    // Of a taken message, which has no receive yet: its data is copied to `packed`, and what came of it.
    enum class Copy : std::uint8_t { none, under_way, here, unwanted } copy = Copy::none;
    transport::Received copied = transport::Received::yes;
    std::uint32_t taken_after = 0;  // answers to anybody
    Peer* taker_back = nullptr;     // its sender, who has cancelled it
    // Of a send, how many of these are still to come: it is out; where it is synchronous, it is matched;
    // where it is wanted back, the answer.
    int awaited = 0;
    std::byte spare = {};  // no receive of the network is empty
  };

  match::Unexpected& show(const transport::Arrival& arrival, std::uint32_t number) noexcept;
  Message& take(transport::Operation::Kind kind) noexcept;
  void forget(Message& message) noexcept;
  void make_room(Message& message, std::uint64_t bytes) noexcept;
  void aim(Message& message, ReceiveRequest& request) noexcept;
  void post(Message& message) noexcept;
  void receive_taken(Message& message) noexcept;
  bool receive_waiting() noexcept;
  bool take_out() noexcept;
  void keep(Message& message, const transport::Arrival& arrival) noexcept;
  void drop(Message& message) noexcept;
  void end_unwanted(Message& message) noexcept;
  void ask_for_more(Peer& peer) noexcept;
  bool try_answer() noexcept;
  void count_taken(Peer& peer, const Message& message) noexcept;
  int sender_of(const match::Unexpected& message) const noexcept;
  static void hear_released(Flow& flow, std::uint32_t answered, std::uint32_t count) noexcept;
  void end_receive(Message& message, const transport::Arrival& arrival, transport::Received how) noexcept;
  void complete(Message& message, const transport::Arrival& arrival) noexcept;
  void end_one(Message& message) noexcept;
  void end_cancelled(Message& message) noexcept;
  bool try_take_back(Peer& sender, std::uint32_t number, std::uint64_t bits) noexcept;
  static void end_without(ReceiveRequest& request, Err error) noexcept;

  Peers& peers_;
  transport::Tagged& network_;
  const MatchBits bits_;
  std::deque<Message> messages_;  // those under way, and free ones; where they are they stay
  std::vector<std::uint32_t> free_;
  const std::size_t posted_max_;
  std::size_t posted_ = 0;        // receives in the network that were not taken before
  std::deque<Message*> waiting_;  // taken messages that found no room, in order
  match::Matcher kept_;
  std::vector<Peer*> asking_;  // have an open question
  std::uint32_t answers_ = 0;
  bool has_received_ = false;           // a message, since the last look at `asking_`
  std::size_t polls_asked_ = 0;         // since the first of `asking_`, with messages
  match::Unexpected* found_ = nullptr;  // what a probe has found in the network; made at the first
};

}  // namespace dunlin::protocol
