// Two phases (R. Thakur, W. Gropp, E. Lusk: "Data sieving and collective I/O in ROMIO", Frontiers 1999), with
// shared memory in place of messages inside a node.
//
// The part of the file that all ranks access is cut into windows, and those between the parts of the ranks
// are left out.  Some ranks, the aggregators, take the others in turn, and each reads or writes its own.
// Every node has a copy of each window of a round, in memory that its ranks share.  Writing:
//
//   1. every rank copies its pieces straight from the program's buffer into its node's copies, as the view
//      lays them out;
//   2. the ranks of the node have all done so;
//   3. the holders of the copies send them to the aggregators of other nodes, which merge them into theirs;
//   4. each aggregator writes its window.
//
// Reading is the same backwards.  A bit for each byte of a window says which bytes somebody has written, so
// that holes stay as they are in the file.  A window without holes is written in one call; one with many is
// read, changed and written back under a lock, as a rank alone does it (io/storage.hpp).  There are two sets
// of copies, used in turn: who fills one again knows by the wait of the round between that its last contents
// have been used.
//
// Cost for n bytes of p ranks on one node: 3 n / p bytes copied by each rank, one of it by the kernel, and a
// barrier for every p windows; with holes a read and a copy more.  Of d nodes: (d - 1) / d * n bytes more
// through the network at most.
//
// Made by io/collective.cpp, which has the steps that wait.  Thread safety: one step at a time; those without
// `Cx` by any thread, without a lock.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "coll/steps.hpp"
#include "coll/task.hpp"
#include "io/file.hpp"
#include "io/window.hpp"

namespace dunlin::io {

/// What each rank tells the others of its access.
struct Part {
  std::int64_t low, high;  // offsets
  std::int64_t bytes;
  std::int64_t run_bytes;   // on average
  std::int64_t can_join;    // offsets grow, and nothing has to be atomic
  std::int64_t can_change;  // windows of the file
  std::int64_t is_in_memory;
  std::uint64_t at;  // address of the buffer, which is one piece that others can map; else 0

  bool is_one_run() const noexcept { return bytes > 0 && high - low == bytes; }
};

/// Which rank reads and writes which windows, and who has the nodes' copies of them: the same on all ranks.
struct Roles {
  const coll::Hierarchy* nodes;
  int aggregators;
  std::int64_t window_bytes;

  static Roles of(const OpenFile& file) noexcept;
  int node_of(int aggregator) const noexcept { return aggregator % nodes->domains(); }
  int rank_of(int aggregator) const noexcept {
    return member(node_of(aggregator), place_at_home(aggregator));
  }
  /// The rank of a node that has its copy of the aggregator's window; on its own node that is itself.
  int holder(int node, int aggregator) const noexcept { return member(node, holder_place(node, aggregator)); }
  int holder_place(int node, int aggregator) const noexcept {
    return node == node_of(aggregator) ? place_at_home(aggregator) : aggregator % ranks_of(node);
  }
  /// Which of the holder's copies it is.
  int slot(int node, int aggregator) const noexcept {
    return node == node_of(aggregator) ? 0 : 1 + aggregator / ranks_of(node);
  }
  int slots(int node) const noexcept {
    return nodes->domains() == 1 ? 1 : 1 + (aggregators + ranks_of(node) - 1) / ranks_of(node);
  }

 private:
  int place_at_home(int aggregator) const noexcept { return aggregator / nodes->domains(); }
  int ranks_of(int node) const noexcept { return int(nodes->members(node).size()); }
  int member(int node, int place) const noexcept { return nodes->members(node)[std::size_t(place)]; }
};

class Together {
 public:
  Together(OpenFile& file, const Access& access, std::span<const Part> parts) noexcept;

  std::int64_t rounds() const noexcept;
  // Of a round, writing:
  void fill(std::int64_t round) noexcept;
  void write_mine(std::int64_t round) noexcept;
  // Reading:
  void read_mine(std::int64_t round) noexcept;
  void pick(std::int64_t round) noexcept;
  /// Between the nodes' copies and those of the aggregators, in either direction.
  static coll::Task exchange(coll::Cx cx, Together* self, std::int64_t round);

  /// An error of another rank; the first byte that has one counts.
  void note(const Outcome& outcome) noexcept;
  /// After an error, the bytes before it.
  Outcome outcome() const noexcept;

 private:
  struct Range {
    std::int64_t low, high;
    bool is_empty() const noexcept { return low >= high; }
    Range both(Range other) const noexcept { return {std::max(low, other.low), std::min(high, other.high)}; }
  };
  /// Windows [first, end) that ranks access, with `before` others in front of them.
  struct Stretch {
    std::int64_t first, end, before;
  };
  void find_windows(std::span<const Part> parts) noexcept;
  std::int64_t windows() const noexcept {
    const Stretch& last = stretches_.back();
    return last.before + last.end - last.first;
  }
  Range range(std::int64_t round, int aggregator) const noexcept;
  Window copy(std::int64_t round, int aggregator) const noexcept;
  Range positions(Range range) const noexcept;
  Range wanted(int node, std::int64_t round, int aggregator) const noexcept;
  void post(const coll::Cx& cx, bool is_send, const Window& window, Range range, int rank) const noexcept;
  void merge(std::int64_t round, Range range) noexcept;
  void read_alone(Range mine) noexcept;
  Outcome move_run(std::byte* at, std::int64_t offset, std::int64_t bytes) noexcept;
  bool is_write() const noexcept { return access_.direction == Direction::write; }
  int aggregators() const noexcept { return roles_.aggregators; }

  OpenFile& file_;
  const Access& access_;
  const std::int64_t memory_bytes_;
  const Roles roles_;
  const int node_, rank_;
  int mine_ = -1;                // the aggregator that this rank is; -1: none
  std::int64_t low_, high_;      // of the file, all ranks'
  std::vector<Range> of_nodes_;  // the same by node
  std::vector<Stretch> stretches_;
  std::vector<std::byte*> memory_;        // by place on this node
  std::unique_ptr<std::byte[]> arrived_;  // a copy of another node; only where there are several
  Outcome outcome_;
};

}  // namespace dunlin::io
