// Large messages that both sides copy, straight from the sender's buffer into the receiver's.
//
// An offer names a transfer (transport/shm/transfer.hpp).  Once the message has met its receive, each side
// that maps the other's buffer may copy: it claims chunks of the packed bytes, the receiver from the front,
// the sender from the back, and counts them.  Contiguous data and any layout take the same steps.  A thread
// inside any wait first copies what this rank receives, oldest first, and then helps with what it sends: at
// once where the wait has no receives of its own, after some polls without news where it has.  So a ping-pong
// becomes halves, an exchange one copy a side, a window goes in order, and a late side costs nothing.
//
// The receiver takes over the lines that it has read, and in the end those that the sender has stored, where
// that makes their next writer faster (copy/copy.hpp), where no other message is to be received, and where
// nobody else may write them (peer::Mapping::may_take_over).  Elsewhere the sender takes its lines back while
// it waits for something else.
//
// Nobody waits here: a copy is a state of its request, and `advance` copies one chunk, outside
// base/big_lock.hpp. Memory that changed its backing meanwhile (a fork) spoils the copy; the receiver then
// asks for the data through the channel, once all claimed chunks are counted, so that no late writer is left.
//
// Called by rendezvous.cpp.  Cost: about two lines moved between the ranks beside the data.  Scale: transfers
// are a pool per rank, not per pair; a rank with more offers under way sends the others by the next way.
// Thread safety: base/big_lock.hpp, given up while bytes are copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "object/request.hpp"
#include "protocol/layouts.hpp"
#include "transport/shm/transfer.hpp"

namespace dunlin::protocol {

struct Peer;

using CopySide = transport::shm::CopySide;

/// How the packed bytes of a message are cut, by a number that goes with the offer.
struct Chunks {
  static constexpr unsigned kHalves = 0;  // greater numbers: chunks of two to that power
  std::size_t bytes;                      // of a chunk; the last one may be shorter
  std::uint32_t count;

  static unsigned cut(std::size_t message_bytes) noexcept;
  static Chunks of(std::size_t message_bytes, unsigned chunking) noexcept;
};

/// One side of one message.
class SharedCopy {
 public:
  CopySide side() const noexcept { return side_; }
  Request& request() const noexcept { return *request_; }
  Peer& peer() const noexcept { return *peer_; }
  std::uint32_t use() const noexcept { return use_; }
  std::uint32_t index() const noexcept { return index_; }
  /// Whether the receive is known.
  bool is_met() const noexcept { return is_met_; }
  /// The peer has claimed chunks and not finished them for a second: it is stopped, or dead.
  bool waits_for_peer() noexcept;
  /// Of a receiver that has all its data, and no other to receive: what the sender has copied, which this
  /// side will read and where the sender will store again.  Empty where that pays nothing.
  std::span<const std::byte> lines_to_take_over() const noexcept;

  std::uint64_t cookie = 0;  // receiver's: names the send

 private:
  friend class SharedCopies;
  void meet(const transport::shm::CopyProgress& receiver) noexcept;
  bool try_copy(bool takes_all) noexcept;
  void copy(const transport::shm::ClaimedChunks& chunks, bool is_last) noexcept;
  bool try_read_layout() noexcept;
  void spoil() noexcept;
  void count(std::uint32_t chunks) noexcept;
  transport::shm::CopyProgress progress() const noexcept;
  bool is_done() const noexcept;
  bool is_spoilt() const noexcept;
  bool takes_over() const noexcept;
  void take_back_later() noexcept;
  bool has_free_chunks() const noexcept { return transfer_->has_free(use_, chunks_.count); }

  CopySide side_ = CopySide::sender;
  bool is_met_ = false;       // the receive is known: chunks may be claimed
  bool is_spoilt_ = false;    // what this side copied is not to be trusted
  bool is_alone_ = false;     // the other side cannot copy
  bool is_writable_ = false;  // receiver's: the sender may copy
  std::uint32_t use_ = 0, index_ = 0;
  Chunks chunks_{};
  std::uint32_t copied_ = 0;  // chunks, by this side
  std::size_t bytes_ = 0;     // that are wanted: a short receive wants less than is offered
  transport::shm::Transfer* transfer_ = nullptr;
  Peer* peer_ = nullptr;
  Request* request_ = nullptr;
  Source from_;          // sender's: its data
  Target to_;            // receiver's: its buffer
  RemoteBuffer unread_;  // sender's: the receiver's buffer while its layout has not been read; else none
  MappedBuffer theirs_;  // the other one; false: this side cannot copy
  std::int64_t waits_since_ns_ = 0;  // as `waits_for_peer` saw it; 0: it does not
  SharedCopy* next_ = nullptr;
  SharedCopy* previous_ = nullptr;
};

/// All that this rank takes part in.
class SharedCopies {
 public:
  ~SharedCopies();

  /// The sender's side, with a transfer for it; nullptr when all are in use.  The offer has to leave next, or
  /// `close` follows.
  SharedCopy* open(Request& request, Peer& peer, const Source& data, unsigned chunking,
                   std::byte* transfers) noexcept;
  /// The receiver's side of an offer.  `theirs`: the sender's data, where it can be mapped.
  SharedCopy& join(Request& request, Peer& peer, const Target& data, std::size_t bytes_wanted,
                   std::size_t bytes_offered, unsigned chunking, std::byte* transfers, std::uint64_t handle,
                   MappedBuffer theirs, const transport::shm::TransferBuffer& own, bool is_writable) noexcept;
  /// The copy is over: its transfer, where it is the sender's, may be used again.
  void close(SharedCopy& copy) noexcept;

  bool is_empty() const noexcept { return !offers_.first && !receives_.first && !sends_.first; }
  /// How many this rank has taken part in.
  std::uint64_t count() const noexcept { return count_; }

  /// What a round came to.
  struct Round {
    bool has_moved = false;
    SharedCopy* finished = nullptr;  // all its chunks are counted; the caller closes it
    bool is_spoilt = false;          // the finished one, a receiver's, did not arrive
  };
  /// One round of a wait or a test: copies at most one chunk.
  Round advance(bool has_receives) noexcept;
  /// The caller is about to sleep: the next round helps, and knows of all receives.
  void lose_patience() noexcept;

 private:
  struct List {
    SharedCopy* first = nullptr;
    SharedCopy* last = nullptr;
  };
  List& list_of(const SharedCopy& copy) noexcept;
  void append(SharedCopy& copy) noexcept;
  void remove(SharedCopy& copy) noexcept;
  void look_at(SharedCopy& offer) noexcept;
  void look_at_offers() noexcept;
  Round walk(List& list, bool may_copy) noexcept;
  SharedCopy& make(Request& request, Peer& peer) noexcept;
  bool has_sends_to_copy() const noexcept;

  List offers_;                      // this rank's sends whose receive is not known; oldest first
  SharedCopy* next_look_ = nullptr;  // of the offers, in turn
  List receives_, sends_;            // whose receive is known
  std::uint64_t count_ = 0;
  int idle_rounds_ = 0;
  SharedCopy* last_sent_ = nullptr;  // the newest of this rank's sends, while it is under way
  std::vector<SharedCopy*> unused_;
  std::vector<std::uint32_t> free_transfers_;  // by index, the one used last behind
  std::vector<std::uint32_t> uses_;            // of each transfer
};

}  // namespace dunlin::protocol
