// New ranks for process topologies, so that neighbors share a node, there a memory node, there a cache:
// MPI_Cart_create, MPI_Graph_create and MPI_Dist_graph_create with `reorder`, MPI_Cart_map and MPI_Graph_map.
// Which places are near: docs/decisions/0039-topology-and-reordering.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coll/hierarchy.hpp"

namespace dunlin::comm {

/// The ranks of a communicator in a grid that has them all, by their new, row-major ranks.  Where nodes have
/// equally many, each gets a block of the grid with the fewest neighbors outside, in it each memory node, and
/// each cache; else they stay as they are.
std::vector<int> ranks_of_grid(std::span<const coll::MemberPlace> places, const std::vector<int>& dims);

struct Edge {
  int from, to;  // vertices; the direction does not matter
  std::int64_t weight;
};

/// The ranks of a communicator by the vertices of a graph that has one for each.  They stay as they are
/// unless less weight lies between nodes then, or as much and less between memory nodes of one, or caches.
/// Cost: e log e for e edges, and the number of nodes times that of vertices.  The same edges in the same
/// order give the same ranks.
std::vector<int> ranks_of_graph(std::span<const coll::MemberPlace> places, std::span<const Edge> edges);

/// Whether any order of ranks is better than another: some share a node, a memory node or a cache, and some
/// do not.
bool is_order_of_use(std::span<const coll::MemberPlace> places);

/// From far to near.
using Level = int coll::MemberPlace::*;
inline constexpr Level kLevels[] = {&coll::MemberPlace::node, &coll::MemberPlace::memory,
                                    &coll::MemberPlace::cache};
inline constexpr int kLevelCount = 3;

/// The members of each group of a level, in the order of their first ones.
std::vector<std::vector<int>> groups_of(std::span<const coll::MemberPlace> places,
                                        const std::vector<int>& members, Level level);

}  // namespace dunlin::comm
