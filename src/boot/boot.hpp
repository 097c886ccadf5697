// How the processes of a job meet: who am I, how many are we, who shares my machine, and a small exchange
// of words (put, fence, get) until a real transport takes over.  Used by runtime/ at init, abort and
// finalize; nobody else. docs/launcher.md describes what a launcher gives us and which launchers are spoken
// to.
//
// Cost: under our own mpirun everything but put/fence/get comes from the environment and one inherited
// descriptor: no message is exchanged.  A fence costs the launcher one message per rank each way, so init
// should need at most one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/err.hpp"
#include "boot/node_map.hpp"

namespace dunlin::boot {

class RankWaits;

/// Where this process stands in its job.
struct Place {
  int rank = 0;
  int size = 1;
  NodeMap map;
  int node = 0;                       // of the job's nodes
  int node_rank = 0;                  // index of `rank` in node_peers
  std::vector<int> node_peers = {0};  // world ranks, ascending, this process included
  int app_number = 0;                 // MPI_APPNUM: which part of an MPMD command line
  int universe_size = -1;             // MPI_UNIVERSE_SIZE; -1 when the launcher does not say

  /// Fills in what follows from a map of `size` ranks.
  void set_map(NodeMap nodes);
};

/// Thread safety: calls come from one thread at a time; `abort` may come from any thread at any time.
class Boot {
 public:
  virtual ~Boot() = default;
  Boot(const Boot&) = delete;
  Boot& operator=(const Boot&) = delete;

  int rank() const noexcept { return place_.rank; }
  int size() const noexcept { return place_.size; }
  int node() const noexcept { return place_.node; }
  int nodes() const noexcept { return place_.map.nodes(); }
  const NodeMap& node_map() const noexcept { return place_.map; }
  int node_rank() const noexcept { return place_.node_rank; }
  int node_size() const noexcept { return int(place_.node_peers.size()); }
  std::span<const int> node_peers() const noexcept { return place_.node_peers; }
  /// With whom this rank shares CPUs: the ranks of its node, before `redraw_nodes`.
  std::span<const int> machine_peers() const noexcept { return machine_peers_; }
  int app_number() const noexcept { return place_.app_number; }
  int universe_size() const noexcept { return place_.universe_size; }

  /// "mpirun", "PMI-1", "PMI-2", "PMIx" or "singleton", for messages.
  virtual const char* name() const noexcept = 0;

  /// Publishes `value` (any bytes, any length) under this rank and `key` (letters, digits, '.', '_', '-').
  /// Each key is put once.
  virtual Err put(std::string_view key, std::string_view value) noexcept = 0;
  /// What `rank` put under `key`; Err::other when it put nothing (PMIx launchers wait then for ever).  Only
  /// after a fence that followed the put.
  virtual Result<std::string> get(int rank, std::string_view key) noexcept = 0;
  /// Collective over the job: puts before it are visible to gets after it.
  virtual Err fence() noexcept = 0;

  /// How ranks of other nodes reach this one, for `lookup` after the next fence.  Once, at init.  Cost at
  /// 10,000 nodes of 128 ranks: one message to the node's launcher daemon; what crosses the network, and what
  /// is held there, is the launcher's (docs/cluster.md).
  Err publish(std::span<const std::byte> address) noexcept;
  /// What `rank` published; asked for at first contact.
  Result<std::string> lookup(int rank) noexcept;

  /// The machine's memfd that our launcher made and all ranks inherited, or -1.  Callers want `node_segment`
  /// (boot/node_segment.hpp), which works under every launcher.
  virtual int inherited_segment_fd() const noexcept { return -1; }

  /// All ranks have begun: until then a wait for one that has not is told of, where nobody else does.
  virtual void started() noexcept {}

  /// Where mpirun sees what this rank waits for, or null.
  virtual RankWaits* waits() const noexcept { return nullptr; }

  /// Ends the whole job: "rank N <message>" reaches standard error once, the launcher exits with `code`.
  /// Never returns, also when the launcher is gone.
  [[noreturn]] virtual void abort(int code, const char* message) noexcept = 0;

  /// Tells the launcher that this rank may now exit without that being a failure.  Not collective.
  virtual Err finalize() noexcept = 0;

  /// The last session has ended, and the next may begin: `finalize`, unless the next one needs the launcher.
  /// That is so over several nodes under PMI or PMIx, which take nobody back: there the end of the process is
  /// the time for it.
  virtual Err rest() noexcept { return nodes() == 1 ? finalize() : Err::ok; }
  /// Takes `rest` back, and `finalize` where that can be: the same process uses MPI again.  What the ranks
  /// share stays as it is.  A launcher that speaks PMI or PMIx cannot be told, and then sees only how the
  /// process ends; over several nodes, where addresses are asked from it, that is an error.
  virtual Err restart() noexcept { return nodes() > 1 && is_finalized_ ? refuse_restart() : Err::ok; }

  /// Obeys DUNLIN_NODES: nodes are what it says, although all ranks run on this machine; and DUNLIN_P2P:
  /// where the network matches, nothing else carries messages, and every rank is a node of its own.
  Err redraw_nodes() noexcept;
  /// DUNLIN_P2P=offload, in a job of several ranks.
  bool matches_in_network() const noexcept;

 protected:
  Boot() = default;
  /// Ranks of the same text share a node.
  Err find_nodes_by(const std::function<Result<std::string>(int)>& text_of) noexcept;
  /// For launchers that tell nothing of nodes: ranks tell each other the identity of their hosts. Collective;
  /// each rank asks for all, so this is for small jobs.
  Err find_nodes_by_host() noexcept;
  Place place_;
  bool is_finalized_ = false;  // and the launcher takes nobody back

 private:
  Err refuse_restart() noexcept;
  std::vector<int> machine_peers_;
};

/// The node of each of so many ranks of one machine, by DUNLIN_NODES and DUNLIN_P2P (`Boot::redraw_nodes`);
/// empty where the former names no nodes.
std::vector<int> drawn_nodes(int ranks);

/// Finds the launcher of this process: our mpirun, a PMI launcher (Hydra, Slurm), a PMIx launcher (PRRTE,
/// Slurm), or none (a singleton).
/// Under a launcher that cannot be spoken to yet this fails with one sentence instead of making N
/// singletons.
Result<std::unique_ptr<Boot>> open() noexcept;

}  // namespace dunlin::boot
