// Which rank runs on which node.  Launchers say it in different ways: PMI's process mapping, a node number
// for each rank (PMIx), the identity of each rank's host, DUNLIN_NODES.  Used by the boots, by comm/ and
// coll/.
//
// Kept as blocks: `nodes` nodes in a row, each with `ranks_per_node` consecutive ranks; where the blocks end,
// they begin again.  So a job of 10,000 equal nodes costs 24 bytes in each process, and one whose nodes all
// differ 24 bytes a node.  Immutable; any thread may read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dunlin::boot {

class NodeMap {
 public:
  /// All ranks on one node.
  explicit NodeMap(int ranks = 1);
  /// From one number for each rank, equal exactly for the ranks of a node; nodes are numbered in the order of
  /// their first rank.
  explicit NodeMap(std::span<const int> node_of_rank);
  /// From PMI's "(vector,(first_node,nodes,ranks_per_node),...)"; false when the text is no such mapping, or
  /// leaves out a node.
  bool try_assign(std::string_view mapping, int ranks);

  int ranks() const noexcept { return ranks_; }
  /// Every number below has a rank.
  int nodes() const noexcept { return nodes_; }
  /// Cost: O(log blocks).
  int node_of(int rank) const noexcept;
  /// Index of a rank among those of its node.  Cost: O(blocks).
  int place_of(int rank) const noexcept;
  /// Ascending.  Cost: O(runs of ranks on one node).
  std::vector<int> ranks_of(int node) const;
  /// The lowest rank of each node.
  std::vector<int> first_ranks() const;
  /// In the words of PMI.
  std::string text() const;

 private:
  struct Block {
    int first_node, nodes, ranks_per_node;
    std::int64_t first_rank;  // in the first round
  };
  void add_block(int first_node, int nodes, int ranks_per_node);
  template <class Visit>
  void for_each_run(Visit visit) const;

  int ranks_ = 0;
  int nodes_ = 0;
  std::int64_t period_ = 0;  // ranks in one round of the blocks
  std::vector<Block> blocks_;
};

}  // namespace dunlin::boot
