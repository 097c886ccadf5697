// Messages between the ranks of one node through one shared memory segment.
//
// The runtime opens one per process at init; progress/ polls it, protocol/ sends through its channels. 
// What lies in the segment: segment.hpp.  The two ways of a message (one inbox per process, then one ring
// per pair): channel.hpp. How a waiting rank sleeps: sleep.hpp.  Documents: docs/shm.md; Nemesis (rows
// N1-N3 of docs/sources.md).
// Thread safety: all calls under base/big_lock.hpp.
#pragma once

#include <memory>
#include <span>

#include "base/err.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::shm {

struct Setup {
  int fd = -1;                      // boot::node_segment; stays the caller's, who may close it after open
  std::size_t offset = 0;           // first byte that is ours: boot::launch_page_bytes(node size)
  int local_rank = 0;               // our index in node_peers
  std::span<const int> node_peers;  // peer indices of the node's ranks, ascending, the same in each of them
};

/// Reaches the other ranks of the node, not this process itself (transport/self does).
class Transport : public transport::Transport {
 public:
  /// Maps the segment.  No message and no barrier: peers may open before or after us, and may send to us
  /// before we open.
  static Result<std::unique_ptr<Transport>> open(const Setup& setup) noexcept;
};

}  // namespace dunlin::transport::shm
