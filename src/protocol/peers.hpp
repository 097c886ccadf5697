// The processes that this one talks to: their channels, what waits to be sent to them, what is known of them.
//
// Used by sender, receiver and rendezvous.  Scale: a peer is made at first contact and costs about 300 bytes;
// a job of 10,000 nodes costs 8 bytes per rank in the table until then. Thread safety: base/big_lock.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "peer/peer_memory.hpp"
#include "protocol/kernel_trial.hpp"
#include "protocol/layouts.hpp"
#include "protocol/outgoing.hpp"
#include "protocol/requests.hpp"
#include "protocol/wire.hpp"
#include "transport/shm/transport.hpp"
#include "transport/transport.hpp"

namespace dunlin::protocol {

/// What the network holds of the messages between two ranks, where it matches (offload.hpp).
struct Flow {
  // Ours: those that the peer has not taken, as far as we have heard; the last question for more, which is
  // open or not.
  std::uint32_t unreleased = 0;
  std::uint32_t question = 0;
  bool is_question_open = false;
  // The peer's: those taken that it is still to hear of; its open question, and the one to be answered now
  // (0: none); after how many answers to anybody this one was given.
  std::uint32_t untold = 0;
  std::uint32_t asked = 0;
  std::uint32_t answer = 0;
  std::uint32_t answered_after = 0;
  std::uint32_t received = 0;  // its messages that are here; modulo 2^32
};

struct Peer {
  transport::Channel* channel = nullptr;
  int index = 0;  // peer index
  // Only for a peer on this node: direct ways to and from the pair's rings, for messages of one line.
  transport::shm::Channel* shm = nullptr;          // the same as `channel`
  transport::shm::RingReader* incoming = nullptr;  // nullptr until it has sent enough to have a ring
  std::uint64_t short_bytes_end_now = 0;  // hot path: messages below this may go by `shm`; 0 as -1 below
  std::int64_t eager_bytes_max = 0;       // whole through the channel; -1: none is
  std::int64_t eager_bytes_max_now = 0;   // hot path: certainly eager; -1 while sends wait or are held back
  bool is_held_back = false;              // it holds too much of ours unexpected: offer, do not push
  bool has_told_hold = false;             // we told it to hold back
  bool owes_flow_control = false;         // it is still to hear of `has_told_hold`, or of `flow`
  Flow flow;

  // Messages and control messages that found no room.  While there are any, everything queues behind them,
  // so that no message overtakes another, nor what this rank had to say before it (that a message has been
  // received: MPI_Bsend relies on it).  Two things are apart: data that the peer asked for, which names its
  // receive, and flow control, which has to be heard while this rank's own messages fill the channel.
  OutgoingQueue outgoing;
  bool has_batch = false;               // the channel still has some that waited and were told to have left
  SendRequest* first_stream = nullptr;  // data asked for through the channel
  SendRequest* last_stream = nullptr;
  Peer* next_busy = nullptr;
  bool is_busy = false;

  std::unique_ptr<peer::PeerMemory> memory;  // direct access to its memory, or nullptr
  bool is_memory_known = false;              // `memory` was asked for
  PeerLayouts layouts;                       // of its types that are not contiguous
  KernelTrial kernel;
  transport::RemoteAccess* remote = nullptr;  // on another node: from buffer to buffer by the network

  /// Whether the network takes it from buffer to buffer.
  template <class Data>
  bool can_move(const Data& data, std::size_t bytes) const noexcept {
    return remote && data.is_contiguous() && bytes >= remote->bytes_min();
  }
  bool must_wait() const noexcept { return !outgoing.is_empty() || is_held_back; }
  bool has_pending() const noexcept {
    return !outgoing.is_empty() || first_stream || owes_flow_control || has_batch;
  }
  void update_eager_bytes_max_now() noexcept;
  transport::Sent try_send(const transport::Envelope& envelope, std::span<const std::byte> head,
                           const Source& data) noexcept {
    return channel->try_send(envelope, head, data);
  }
  /// `data` follows in the same payload.
  transport::Sent try_send(const Control& control, const Source& data = {}) noexcept;
};

class Peers {
 public:
  Peers(int me, int world_size) noexcept : me_(me), table_(std::size_t(world_size), nullptr) {}
  ~Peers();
  Peers(const Peers&) = delete;

  int me() const noexcept { return me_; }
  /// The first transport that can reach a peer carries its messages.
  void add(transport::Transport& transport) noexcept { transports_.push_back(&transport); }
  /// What joins the ranks of this node, where there are several: their transport, which gets short-cuts, and
  /// how they reach each other's memory; without, all bytes go through channels.  Not owned.
  void join_node(transport::shm::Transport& shm, peer::Memories& memories) noexcept {
    shm_ = &shm;
    memories_ = &memories;
  }
  transport::shm::Transport* shared_memory() const noexcept { return shm_; }
  /// Channels carry control messages only.  Before the first contact.
  void carry_control_only() noexcept { carries_messages_ = false; }

  Peer& of(int index) noexcept {
    Peer* const peer = table_[std::size_t(index)];
    return peer ? *peer : make(index);
  }
  Peer* or_null(int index) const noexcept { return table_[std::size_t(index)]; }
  peer::PeerMemory* memory_of(Peer& peer) noexcept;
  /// Whether peers can map this buffer of ours now.
  template <class Data>
  bool is_mappable(const Data& data) const noexcept {
    const std::span<const std::byte> all = extent_of(data.address, data.bytes, data.type, data.count);
    return memories_ && !all.empty() && memories_->is_shared(all.data(), all.size());
  }

  void enqueue(Peer& peer, Outgoing& message) noexcept;
  /// Behind everything that waits.
  void send_control(Peer& peer, const Control& control) noexcept;
  /// Before everything that waits: tells the peer to hold back, or to go on; or of what was taken.
  void send_flow_control(Peer& peer) noexcept;
  /// Data that goes through the channel when it has room.
  void stream(SendRequest& request) noexcept;

  /// hot path: tries again what waits for room; answers whether anything moved.
  bool flush() noexcept { return busy_ && flush_busy(); }
  /// Whether nothing waits for room.
  bool is_idle() const noexcept { return !busy_; }
  /// How much has found no room so far.
  std::uint64_t begun_to_wait() const noexcept { return begun_to_wait_; }

 private:
  Peer& make(int index) noexcept;
  void mark_busy(Peer& peer) noexcept;
  void link_busy(Peer& peer) noexcept;
  bool flush_busy() noexcept;
  bool flush(Peer& peer) noexcept;
  bool flush_streams(Peer& peer) noexcept;

  const int me_;
  std::vector<Peer*> table_;  // by peer index; made at first contact, owned
  std::vector<transport::Transport*> transports_;
  transport::shm::Transport* shm_ = nullptr;
  peer::Memories* memories_ = nullptr;
  bool carries_messages_ = true;
  Peer* busy_ = nullptr;  // with something that waits
  std::uint64_t begun_to_wait_ = 0;
};

}  // namespace dunlin::protocol
