// How messages travel: eager, synchronous, rendezvous, and what is done when a channel is full or a receiver
// is overrun.
//
//   eager        payload goes with the envelope, up to Peer::eager_bytes_max
//   in pieces    the first goes with the envelope, the others follow unasked: longer payload, up to
//                Peer::copied_bytes_max, that the receiver cannot read in place or had better not
//   placed       the sender writes into the buffer in which the receive waits, where it would have pushed
//   rendezvous   the envelope offers address and length; the matching receiver reads the sender's memory
//                (peer/peer_memory.hpp) or asks for the data through the channel in chunks
//                (copy-in/copy-out)
//   flow control a receiver that holds too much unexpected data tells senders to offer instead of pushing;
//                held-back messages stay in their senders' buffers; nothing is ever dropped
//
// Called by pt2pt, coll and comm (down), by transports through `Inbox` (up).  Documents: Nemesis (N6-N8), OB1
// (M2). Thread safety: all calls under base/big_lock.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "match/matcher.hpp"
#include "protocol/named_receives.hpp"
#include "protocol/peer.hpp"
#include "protocol/requests.hpp"
#include "protocol/wire.hpp"
#include "transport/transport.hpp"

namespace dunlin::progress {
class Engine;
}

namespace dunlin::protocol {

class Protocol final : public transport::Inbox {
 public:
  Protocol(progress::Engine& engine, int me, int world_size) noexcept;
  ~Protocol();

  int me() const noexcept { return me_; }

  /// hot path: a standard-mode send that needs no request.  True when the buffer may be reused already.
  bool try_send_now(Comm& comm, Plane plane, const Source& data, int dest, int tag) noexcept {
    Peer* peer = peers_[std::size_t(comm.target_members[dest])];
    if (!peer) [[unlikely]]
      peer = &peer_of(comm.target_members[dest]);
    const transport::Envelope envelope{comm.context_of(plane), comm.rank, tag, std::uint32_t(data.bytes),
                                       transport::MessageKind::eager};
    // Both limits let nothing through while sends are pending or held back.
    if (data.bytes < peer->short_bytes_end_now && data.is_contiguous()) [[likely]]
      if (peer->shm->try_send_short(envelope, data.address)) [[likely]]
        return true;
    if (std::int64_t(data.bytes) > peer->piece_bytes_max) return false;
    if (std::int64_t(data.bytes) > peer->eager_bytes_max_now) {
      if (peer->eager_bytes_max_now < 0) return false;
      const Route route = take_route(*peer, envelope, data);
      if (route != Route::push) return route == Route::placed;
    }
    if (!data.is_contiguous() && peer->shm && is_scattered(data)) return false;
    return peer->try_send(envelope, {}, data) == transport::Sent::yes;
  }

  /// Starts a send; `request` must be fresh.  It may be complete on return.
  void send(SendRequest& request, Comm& comm, Plane plane, const Source& data, int dest, int tag,
            Mode mode) noexcept;

  /// Starts a receive; `request` must be fresh.  `source` and `tag` may be match::kAny.  It may be complete
  /// on return.
  void receive(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data, int source,
               int tag) noexcept;

  /// hot path: takes a message that is the very next one of `source` straight from its ring, if nothing else
  /// is being matched; looks for it for a while.  False: nothing was received.
  bool try_receive_now(Comm& comm, Plane plane, const Target& data, int source, int tag,
                       Completion& completion) noexcept {
    if (source < 0 || tag < 0 || !data.is_contiguous() || named_receives.are_used_up()) return false;
    if (!matcher_.is_free({comm.context_of(plane), source, tag})) return false;
    Peer* const peer = peers_[std::size_t(comm.target_members[source])];
    if (!peer || !peer->incoming) [[unlikely]]
      return false;
    if (std::int64_t(data.bytes) >= Peer::kPlaceBytesMin)
      tell_awaited(*peer, comm.context_of(plane), source, tag, data);
    for (int polls = polls_direct_;; transport::shm::Hardware::pause()) {
      std::int64_t bytes = peer->incoming->try_take(comm.context_of(plane), source, tag, data.address,
                                                    std::int64_t(data.bytes));
      if (bytes == transport::shm::RingReader::kOther) [[unlikely]]
        bytes = peer->incoming->try_take_any(comm.context_of(plane), source, tag, data.address,
                                             std::int64_t(data.bytes));
      if (bytes >= 0) [[likely]] {
        named_receives.use();
        completion.source = source;
        completion.tag = tag;
        completion.bytes = std::uint64_t(bytes);
        return true;
      }
      if (bytes == transport::shm::RingReader::kOther || --polls <= 0) return false;
    }
  }

  /// As `receive`, then waits: the request is matched without ever being queued (row N8).
  void receive_and_wait(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data, int source,
                        int tag) noexcept;

  /// The oldest unexpected message that a receive would match, or nullptr; polls nothing.
  match::Unexpected* probe(Comm& comm, Plane plane, int source, int tag) noexcept;
  /// Takes it out of matching (MPI_Mprobe); `receive_matched` delivers it later.
  void extract(match::Unexpected& message) noexcept;
  void receive_matched(ReceiveRequest& request, Comm& comm, match::Unexpected& message,
                       const Target& data) noexcept;
  /// Bytes of the message that a probe found.
  static std::uint64_t message_bytes(match::Unexpected& message) noexcept;

  void cancel(SendRequest& request) noexcept;
  void cancel(ReceiveRequest& request) noexcept;

  /// Tries pending sends and streams again, and helps receivers to copy; answers whether anything moved.
  bool flush() noexcept {
    if (shared_sends_ && help_receivers()) [[unlikely]]
      return true;
    return busy_peers_ && flush_busy();
  }
  /// Whether everything handed over has left this process (finalize waits for it).
  bool is_idle() const noexcept { return !busy_peers_; }

  void arrived(int peer, const transport::Envelope& envelope,
               const transport::Payload& payload) noexcept override;
  bool try_arrive_short(std::uint64_t context, std::uint64_t source_and_tag, const std::byte* payload,
                        std::size_t bytes) noexcept override;

  Peer& peer_of(int index) noexcept;
  Peer* peer_or_null(int index) const noexcept { return peers_[std::size_t(index)]; }
  /// The transport between the ranks of this node, if there is one: it gets short-cuts.
  void set_shared_memory(transport::shm::Transport& shm) noexcept { shm_ = &shm; }
  /// How often a blocking receive looks at its sender's ring before it lets other work go on.
  void set_polls_direct(int polls) noexcept { polls_direct_ = polls; }
  /// How peers' memory is reached, and ours by them; without, bytes go by copy-in/copy-out.  Not owned.
  void set_memories(peer::Memories& memories) noexcept { memories_ = &memories; }
  match::Matcher& matcher() noexcept { return matcher_; }

  NamedReceives named_receives;

 private:
  void enqueue(Peer& peer, Outgoing& message) noexcept;
  enum class Route : std::uint8_t {
    push,    // with the envelope, or in pieces
    offer,   // to be read in place
    ask,     // the same, and the receiver says whether it had better be pushed
    placed,  // written where the receive waits: all is done
  };
  Route take_route(Peer& peer, const transport::Envelope& envelope, const Source& data) noexcept;
  transport::Sent try_start(SendRequest& request) noexcept;
  bool flush_busy() noexcept;
  bool help_receivers() noexcept;
  bool has_offered_to(const Peer& peer) const noexcept;
  Offer make_offer(SendRequest& request, bool asks) noexcept;
  void withdraw_offer(SendRequest& request) noexcept;
  peer::PeerMemory* memory_of(Peer& peer) noexcept;
  bool try_flush(Peer& peer) noexcept;
  void stream(SendRequest& request) noexcept;
  bool flush_streams(Peer& peer) noexcept;
  transport::Sent try_stream(Peer& peer, SendRequest& request) noexcept;
  void mark_busy(Peer& peer) noexcept;
  void finish(SendRequest& request, Err error) noexcept;

  void begin(ReceiveRequest& request, Comm& comm, Plane plane, const Target& data, int source,
             int tag) noexcept;
  void deliver_kept(ReceiveRequest& request, match::Unexpected& message) noexcept;
  void accept(ReceiveRequest& request, int peer, const transport::Envelope& envelope,
              const transport::Payload& payload, const match::Unexpected* kept = nullptr) noexcept;
  std::size_t fit(ReceiveRequest& request, std::uint64_t bytes) noexcept;
  void place(ReceiveRequest& request, const transport::Payload& payload, std::size_t head, std::size_t offset,
             std::size_t bytes) noexcept;
  void accept_offer(ReceiveRequest& request, Peer& peer, const Offer& offer, bool was_kept) noexcept;
  static Verdict verdict_on(const Peer& peer, const Offer& offer, bool was_kept) noexcept;
  bool try_pull(ReceiveRequest& request, Peer& peer, const Offer& offer, std::size_t bytes) noexcept;

  transport::Sent try_start_pieces(SendRequest& request) noexcept;
  bool try_follow_pieces(ReceiveRequest& request, Peer& peer, const transport::Envelope& envelope,
                         const transport::Payload& payload, const match::Unexpected* kept) noexcept;
  void piece_arrived(Peer& peer, const transport::Envelope& envelope,
                     const transport::Payload& payload) noexcept;
  void add_piece(Arriving& message, const transport::Payload& payload, std::size_t head,
                 std::size_t bytes) noexcept;

  void tell_awaited(Peer& peer, std::uint64_t context, int source, int tag, const Target& data) noexcept;
  bool try_place(Peer& peer, const transport::Envelope& envelope, const Source& data) noexcept;
  void follow_placed(ReceiveRequest& request, Peer& peer, const Placed& placed) noexcept;
  void placed_arrived(Peer& peer, std::uint64_t placed) noexcept;

  void keep_unexpected(int peer, const transport::Envelope& envelope,
                       const transport::Payload& payload) noexcept;
  void forget(match::Unexpected& message) noexcept;
  void resume_senders() noexcept;

  void send_control(Peer& peer, const Control& control) noexcept;
  void control_arrived(Peer& peer, const transport::Envelope& envelope,
                       const transport::Payload& payload) noexcept;
  void data_wanted(SendRequest& request, const Control& control) noexcept;
  void chunk_arrived(Peer& peer, const Control& control, const transport::Envelope& envelope,
                     const transport::Payload& payload) noexcept;
  void cancel_wanted(Peer& peer, const Control& control) noexcept;

  progress::Engine& engine_;
  transport::shm::Transport* shm_ = nullptr;
  int polls_direct_ = 1;
  peer::Memories* memories_ = nullptr;
  const int me_;
  match::Matcher matcher_;
  std::vector<Peer*> peers_;             // by peer index; made at first contact, owned
  Peer* busy_peers_ = nullptr;           // with something pending
  SendRequest* shared_sends_ = nullptr;  // offered, and this side may help to copy
  std::vector<Peer*> told_to_hold_;      // senders that offer instead of pushing because of us
  std::uint64_t unexpected_bytes_ = 0;   // memory of unexpected messages
  std::vector<std::byte> scratch_;       // for data that is contiguous neither here nor there
};

}  // namespace dunlin::protocol
