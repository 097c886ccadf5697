// Which rank runs on which node, in the words of PMI: "(vector,(first_node,nodes,ranks_per_node),...)".
// Parsed by the PMI-1 client, written by mpirun.  The vector is repeated until all ranks are placed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "boot/boot.hpp"

namespace dunlin::boot {

/// Fills node, nodes, node_rank and node_peers of `place` from a mapping; false when the text is no such
/// mapping. Cost: O(blocks of the vector + ranks) time, O(ranks of the node) memory.
bool try_apply_mapping(std::string_view mapping, Place& place);

/// The mapping of a job whose ranks all run on one node.
std::string mapping_of_one_node(int size);

}  // namespace dunlin::boot
