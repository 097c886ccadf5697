// Messages between the ranks of one node through one shared memory segment.
//
// The runtime opens one per process at init; progress/ polls it, protocol/ sends through its channels.
// What lies in the segment: segment.hpp.  The two ways of a message (one inbox per process, then one ring
// per pair): channel.hpp.  How a waiting rank sleeps: attention.hpp.  Document: docs/shm.md.
//
// Scale: a peer costs 24 bytes until it talks, then about 200 of our own memory and one page of shared
// memory.
// Thread safety: all calls under base/big_lock.hpp.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/err.hpp"
#include "transport/shm/channel.hpp"
#include "transport/shm/segment.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::shm {

struct Setup {
  int fd = -1;                      // boot::node_segment; stays the caller's, who may close it after open
  std::size_t offset = 0;           // first byte that is ours: boot::launch_page_bytes(node size)
  int local_rank = 0;               // our index in node_peers
  std::span<const int> node_peers;  // peer indices of the node's ranks, ascending, the same in each of them
};

/// Reaches the other ranks of the node, not this process itself (transport/self does).
class Transport final : public transport::Transport {
 public:
  /// Maps the segment.  No message and no barrier: peers may open later than us, or send to us before we do.
  static Result<std::unique_ptr<Transport>> open(const Setup& setup) noexcept;

  const char* name() const noexcept override { return "shm"; }
  Channel* connect(int peer) noexcept override;
  /// What `peer` sends us by ring, or nullptr while it uses the inbox.  Stays valid.
  RingReader* reader_of(int peer) const noexcept {
    const int sender = local_rank_of(peer);
    return sender >= 0 ? readers_[std::size_t(sender)].get() : nullptr;
  }
  /// The transfers (segment.hpp) of a rank of this node, ourselves included.
  std::byte* shared_lines(int peer) const noexcept { return segment_.transfers(local_rank_of(peer)); }
  int poll(Inbox& inbox) noexcept override;
  /// hot path: at most one message, so that those behind it are not unexpected by the time they are asked
  /// for.
  int poll_peer(int peer, Inbox& inbox) noexcept override {
    const int sender = local_rank_of(peer);
    RingReader* reader = sender >= 0 ? readers_[std::size_t(sender)].get() : nullptr;
    if (!reader) [[unlikely]]
      return poll_inbox(inbox, 1);
    return try_read(*reader, peer, inbox);
  }

  bool can_sleep() const noexcept override { return true; }
  void announce_sleep() noexcept override { attention().announce(std::exchange(sender_.wants_room, false)); }
  void sleep(std::int64_t timeout_ns) noexcept override { attention().sleep(timeout_ns); }
  void withdraw_sleep() noexcept override { attention().withdraw(); }
  void wake() noexcept override { attention().wake(); }

 private:
  Transport(Segment segment, const Setup& setup, bool takes_part_in_barriers) noexcept;

  static int try_read(RingReader& reader, int peer, Inbox& inbox) noexcept {
    const RingReader::Front message = reader.front();
    if (!message) return 0;
    if (!message.is_short() || !inbox.try_arrive_short(message.context(), message.source_and_tag(),
                                                       message.payload(), message.bytes()))
      return read_any(reader, peer, inbox);
    reader.pop_short();
    return 1;
  }
  [[gnu::noinline]] static int read_any(RingReader& reader, int peer, Inbox& inbox) noexcept {
    return reader.try_read([&inbox, peer](const Envelope& envelope, const Payload& payload) noexcept {
      inbox.arrived(peer, envelope, payload);
    });
  }

  /// Of the peer with this index, or -1.
  int local_rank_of(int peer) const noexcept {
    const auto guess = std::size_t(peer - peers_.front());  // right where the node's ranks are consecutive
    if (guess < peers_.size() && peers_[guess] == peer) [[likely]]
      return int(guess);
    return search_local_rank(peer);
  }
  int search_local_rank(int peer) const noexcept;
  Attention& attention() const noexcept { return segment_.attention(sender_.me); }

  int poll_rings(Inbox& inbox) noexcept;
  int poll_inbox(Inbox& inbox, int messages_max) noexcept;
  void start_ring(int sender) noexcept;

  Segment segment_;
  const std::vector<int> peers_;  // peer index by local rank
  SenderState sender_;
  std::vector<std::unique_ptr<Channel>> channels_;    // by local rank; made at first contact
  std::vector<std::unique_ptr<RingReader>> readers_;  // by local rank; made by the peer's promotion
  std::vector<int> active_;           // local ranks of peers with a reader, the one used last first
  bool reads_doorbells_ = false;      // too many rings to look at each
  std::vector<std::uint64_t> heard_;  // doorbells as they were when their rings were found empty
  InboxReader inbox_reader_;
};

}  // namespace dunlin::transport::shm
