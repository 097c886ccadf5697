// One large message that both waiting sides copy: the receiver from the front, the sender, as long as it has
// nothing better to do, from the back.
//
// Used by protocol/ (rendezvous).  The sender opens a transfer, which lies in its shared heap, and sends its
// address with the offer; the receiver maps it, writes where the data shall go and starts; the sender looks
// now and then and helps.  The receiver alone decides that the message has arrived, and tells the sender, who
// then closes the transfer.  docs/memory.md, "Copying well" and "Fresh data".
//
// Thread safety: shared between two processes; in each of them one thread at a time.
// Invariants: 1. `bytes`, `chunk_bytes` and `way` are written before `to`, by the receiver, once.
//             2. The receiver touches the transfer only until it tells the sender; the sender frees it after
//             that.
//             3. A chunk that a side claimed is written by that side only, and before it counts it.
//             4. The sender claims from its own view of the counter.  A fork of the sender parts that view
//             from the receiver's, so that it may still write chunks that the receiver took as its own: then
//             the receiver trusts only what the sender sends through the channel, after its last write
//             (`through_channel`).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "copy/copy.hpp"
#include "peer/peer_memory.hpp"
#include "protocol/source_history.hpp"

namespace dunlin::protocol {

struct alignas(64) SharedTransfer {
  copy::SharedCopy copy;
  std::atomic<std::uint32_t>
      is_spoilt;              // by the sender: the receiver's memory changed its backing, its share is lost
  std::uint32_t chunk_bytes;  // by the receiver
  std::uint64_t bytes;        // by the receiver
  ShareWay way;               // by the receiver
  std::atomic<std::uint64_t> to;  // by the receiver: its address of the destination; 0: not matched yet
};
static_assert(sizeof(SharedTransfer) == 64);

/// The sender's part
/// ------------------------------------------------------------------------------------------

/// A transfer for a message of `bytes` from `from`, or nullptr when sharing does not pay or nothing can be
/// shared.
SharedTransfer* open_transfer(const void* from, std::size_t bytes) noexcept;
/// After the receiver said that it is done (or the message was cancelled before it was matched).
void close_transfer(SharedTransfer* transfer) noexcept;
/// hot path: one load.  Whether the receiver has begun to copy.
inline bool has_begun(const SharedTransfer& transfer) noexcept {
  return transfer.to.load(std::memory_order_relaxed) != 0;  // help_transfer looks again, with acquire
}
/// Copies chunks of a transfer that the receiver has
/// begun; false when there was nothing to do.
bool help_transfer(SharedTransfer& transfer, peer::PeerMemory& receiver, const std::byte* from) noexcept;

/// The receiver's part
/// ----------------------------------------------------------------------------------------

enum class SharedReceive : std::uint8_t {
  arrived,
  declined,         // nothing was begun: another way may be taken
  through_channel,  // the sender forked and may still write: only data through the channel is safe now; or
                    // that is faster
};

/// What the caller knows.
struct ReceiveHints {
  bool is_asked = false;        // the sender might have pushed the data, and asks what is better
  bool is_sender_busy = false;  // it is waiting for data of ours, too, and will copy that
};

/// What a waiting receiver does meanwhile (it helps those whose sender it is).
struct WhileWaiting {
  void (*work)(void* argument) noexcept;
  void* argument;
};

/// Copies `bytes` from the sender's address `from` to `to`, together with the sender when it helps.
/// `transfer` is the address that came with the offer; `history` knows the sender's buffers, and learns.
/// Waits, at the end, for what the sender is copying, which takes microseconds while the sender runs.
SharedReceive try_receive_shared(peer::PeerMemory& sender, std::uint64_t transfer, std::uint64_t from,
                                 std::byte* to, std::size_t bytes, SourceHistory& history, ReceiveHints hints,
                                 WhileWaiting meanwhile) noexcept;

}  // namespace dunlin::protocol
