// New ranks for Cartesian topologies, so that neighbors share a node, there a memory node, there a cache:
// MPI_Cart_create with `reorder`, and MPI_Cart_map.
#pragma once

#include <span>
#include <vector>

#include "coll/hierarchy.hpp"

namespace dunlin::comm {

/// The ranks of a communicator in a grid that has them all, by their new, row-major ranks.  Where nodes have
/// equally many, each gets a block of the grid with the fewest neighbors outside, in it each memory node, and
/// each cache; else they stay as they are.
std::vector<int> ranks_of_grid(std::span<const coll::MemberPlace> places, const std::vector<int>& dims);

}  // namespace dunlin::comm
