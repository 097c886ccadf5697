// What a communicator knows of the program's process topology (MPI 5.0, chapter 8).
//
// Made by cart.cpp, graph.cpp and dist_graph.cpp, asked by these and by neighbor.cpp; shared by duplicates.
// Scale: Cartesian and distributed graphs cost what this process's own neighbors cost; the old
// MPI_Graph_create keeps the whole graph on every process, because the standard lets every process ask for
// all of it. Thread safety: never changes once it hangs on a communicator.
#pragma once

#include <memory>
#include <vector>

#include "base/err.hpp"
#include "object/comm.hpp"

namespace dunlin::comm {

/// This process's neighbors, ranks or MPI_PROC_NULL, in the order of the buffers of neighborhood collectives.
struct Neighborhood {
  std::vector<int> sources;
  std::vector<int> destinations;
  /// The order in which blocks from the same neighbor arrive, as indices of `sources`.  Along a Cartesian
  /// dimension of one or two processes both neighbors are the same process; what it sends downwards comes
  /// from above.
  std::vector<int> arrivals;
};

struct Topology {
  enum class Kind { cart, graph, dist_graph };
  explicit Topology(Kind kind) noexcept : kind(kind) {}
  const Kind kind;
  Neighborhood mine;

  // Cartesian: the first dimension varies slowest.
  std::vector<int> dims;
  std::vector<int> periods;  // 0 or 1

  // Graph: of every process the end of its neighbors in `edges`.
  std::vector<int> index;
  std::vector<int> edges;

  // Distributed graph: beside `mine`; empty where unweighted.
  std::vector<int> source_weights;
  std::vector<int> destination_weights;
  bool is_weighted = false;
};

/// The topology of that kind, or nullptr with the error recorded.
const Topology* topology_of(const Comm& comm, Topology::Kind kind, Err* error) noexcept;

std::vector<int> first_ranks(int size) noexcept;

/// Collective over `comm`: a communicator of those of its ranks, in this order, with this topology; nullptr
/// for the others.
Err create_with_topology(Comm& comm, const std::vector<int>& ranks, std::shared_ptr<Topology> topology,
                         Comm** newcomm) noexcept;

/// Cartesian: fills in `mine` for a rank.
void find_cart_neighbors(Topology& topology, int rank) noexcept;

}  // namespace dunlin::comm
