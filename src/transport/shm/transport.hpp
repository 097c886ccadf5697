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
  int ranks_per_cpu = 1;            // that share its caches; at least 1
};

/// Reaches the other ranks of the node, not this process itself (transport/self does).
class Transport final : public transport::Transport {
 public:
  /// Maps the segment.  No message and no barrier: peers may open later than us, or send to us before we do.
  static Result<std::unique_ptr<Transport>> open(const Setup& setup) noexcept;

  const char* name() const noexcept override { return "shm"; }
  Channel* connect(int peer) noexcept override;
  /// What `peer` sends us by ring, or nullptr while it uses the inbox.  Stays valid.
  RingReader* reader_of(int peer) const noexcept;
  /// The transfers (segment.hpp) of a rank of this node, ourselves included.
  std::byte* shared_lines(int peer) const noexcept { return segment_.transfers(local_rank_of(peer)); }
  /// Shared memory for one more communicator that this rank leads: its index, or -1 when none is free.
  int try_take_commons() noexcept;
  /// Nobody has used it.
  void give_back_commons(int index) noexcept { are_commons_taken_[index] = false; }
  Commons commons(int owner, int index) const noexcept {
    return segment_.commons(local_rank_of(owner), index);
  }
  /// Of a rank of this node, ourselves included: wakes its helper thread.
  Bell& bell(int peer) const noexcept { return segment_.bell(local_rank_of(peer)); }
  /// Of a rank of this node, ourselves included.
  Presence& presence(int peer) const noexcept { return segment_.presence(local_rank_of(peer)); }
  bool is_on_node(int peer) const noexcept { return local_rank_of(peer) >= 0; }
  int poll(Inbox& inbox) noexcept override;
  /// hot path: at most one message, so that those behind it are not unexpected by the time they are asked
  /// for.
  int poll_peer(int peer, Inbox& inbox) noexcept override;
  /// Between two polls that find nothing.
  void rest() noexcept {
    if (!sender_.to_take_back.is_empty()) [[unlikely]]
      sender_.to_take_back.take_some();
    else
      os::pause();
  }

  bool can_sleep() const noexcept override { return true; }
  void announce_sleep() noexcept override;
  void sleep(std::int64_t timeout_ns) noexcept override;
  void withdraw_sleep() noexcept override { attention().withdraw(); }
  void wake() noexcept override { attention().wake(); }

 private:
  Transport(Segment segment, const Setup& setup, bool takes_part_in_barriers) noexcept;

  int local_rank_of(int peer) const noexcept;
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
  bool are_commons_taken_[kCommons] = {true};  // 0: of the world, led by its rank 0
  bool has_announced_room_ = false;            // this sleep ends when a ring has room, too
};

}  // namespace dunlin::transport::shm
