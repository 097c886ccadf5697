// New ranks for Cartesian topologies, so that neighbors share memory: MPI_Cart_create with `reorder`, and
// MPI_Cart_map.
#pragma once

#include <vector>

#include "object/comm.hpp"

namespace dunlin::comm {

/// The ranks in `comm` of the processes of a grid, by their new, row-major ranks.  Where the grid has all
/// ranks of `comm` and domains (coll/hierarchy.hpp) have equally many, each domain gets a block of the grid
/// with the fewest neighbors outside; else ranks stay as they are.  The same on all members, without a
/// message.
std::vector<int> ranks_of_grid(const Comm& comm, const std::vector<int>& dims, int size) noexcept;

}  // namespace dunlin::comm
