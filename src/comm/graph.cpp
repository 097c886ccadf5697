// Graph topologies of MPI-1 (MPI 5.0, 8.5.3, 8.5.5, 8.5.8): every process gives and keeps the whole graph.
#include <algorithm>

#include "comm/functions.hpp"
#include "comm/region.hpp"
#include "comm/reorder.hpp"
#include "comm/topology.hpp"

namespace dunlin::comm {
namespace {

Err check_graph(int nnodes, const int* index, const int* edges, int processes) noexcept {
  if (nnodes < 0 || nnodes > processes)
    return fail(Err::arg, "nnodes is %d; the communicator has %d processes", nnodes, processes);
  int before = 0;
  for (int i = 0; i < nnodes; ++i) {
    if (index[i] < before)
      return fail(Err::arg, "index[%d] is %d; it sums the edges of nodes 0 to %d and cannot fall", i,
                  index[i], i);
    before = index[i];
  }
  for (int i = 0; i < before; ++i)
    if (edges[i] < 0 || edges[i] >= nnodes)
      return fail(Err::arg, "edges[%d] is %d; the graph has %d nodes", i, edges[i], nnodes);
  return Err::ok;
}

std::span<const int> neighbors_of(const Topology& topology, int rank) noexcept {
  const int first = rank == 0 ? 0 : topology.index[std::size_t(rank) - 1];
  return {topology.edges.data() + first, std::size_t(topology.index[std::size_t(rank)] - first)};
}

/// Ranks by node of the graph; as they are where it leaves some out.
std::vector<int> reordered(const Comm& comm, int nnodes, const int* index, const int* edges) noexcept {
  if (nnodes != comm.size) return first_ranks(nnodes);
  std::vector<Edge> weighted;
  for (int node = 0, edge = 0; node < nnodes; ++node)
    for (; edge < index[node]; ++edge) weighted.push_back({node, edges[edge], 1});
  return ranks_of_graph(places_of(comm), weighted);
}

const Topology* graph_of(const Comm& comm, int rank, Err* error) noexcept {
  const Topology* topology = topology_of(comm, Topology::Kind::graph, error);
  if (!topology) return nullptr;
  if (rank >= 0 && rank < comm.size) return topology;
  *error = fail(Err::rank, "rank is %d; comm has %d ranks", rank, comm.size);
  return nullptr;
}

}  // namespace

Err graph_create(Comm& comm, int nnodes, const int* index, const int* edges, int reorder,
                 Comm** newcomm) noexcept {
  if (comm.is_inter())
    return fail(Err::comm, "comm_old is an inter-communicator; give an intra-communicator");
  if (Err e = check_graph(nnodes, index, edges, comm.size); e != Err::ok) return e;
  auto topology = std::make_shared<Topology>(Topology::Kind::graph);
  topology->index.assign(index, index + nnodes);
  if (nnodes > 0) topology->edges.assign(edges, edges + index[nnodes - 1]);
  const std::vector<int> ranks = reorder ? reordered(comm, nnodes, index, edges) : first_ranks(nnodes);
  const auto me = std::find(ranks.begin(), ranks.end(), comm.rank);
  if (me != ranks.end()) {
    const auto neighbors = neighbors_of(*topology, int(me - ranks.begin()));
    topology->mine.sources.assign(neighbors.begin(), neighbors.end());
    topology->mine.destinations = topology->mine.sources;
  }
  return create_with_topology(comm, ranks, std::move(topology), newcomm);
}

Err graph_map(const Comm& comm, int nnodes, const int* index, const int* edges, int* newrank) noexcept {
  if (Err e = check_graph(nnodes, index, edges, comm.size); e != Err::ok) return e;
  const std::vector<int> ranks = reordered(comm, nnodes, index, edges);
  const auto me = std::find(ranks.begin(), ranks.end(), comm.rank);
  *newrank = me != ranks.end() ? int(me - ranks.begin()) : MPI_UNDEFINED;
  return Err::ok;
}

Err graphdims_get(const Comm& comm, int* nnodes, int* nedges) noexcept {
  Err error;
  const Topology* topology = topology_of(comm, Topology::Kind::graph, &error);
  if (!topology) return error;
  *nnodes = int(topology->index.size());
  *nedges = int(topology->edges.size());
  return Err::ok;
}

Err graph_get(const Comm& comm, int maxindex, int maxedges, int* index, int* edges) noexcept {
  Err error;
  const Topology* topology = topology_of(comm, Topology::Kind::graph, &error);
  if (!topology) return error;
  if (maxindex < int(topology->index.size()) || maxedges < int(topology->edges.size()))
    return fail(Err::arg, "maxindex is %d and maxedges %d; the graph has %zu nodes and %zu edges", maxindex,
                maxedges, topology->index.size(), topology->edges.size());
  std::copy(topology->index.begin(), topology->index.end(), index);
  std::copy(topology->edges.begin(), topology->edges.end(), edges);
  return Err::ok;
}

Err graph_neighbors_count(const Comm& comm, int rank, int* nneighbors) noexcept {
  Err error;
  const Topology* topology = graph_of(comm, rank, &error);
  if (topology) *nneighbors = int(neighbors_of(*topology, rank).size());
  return error;
}

Err graph_neighbors(const Comm& comm, int rank, int maxneighbors, int* neighbors) noexcept {
  Err error;
  const Topology* topology = graph_of(comm, rank, &error);
  if (!topology) return error;
  const auto found = neighbors_of(*topology, rank);
  if (maxneighbors < int(found.size()))
    return fail(Err::arg, "maxneighbors is %d; rank %d has %zu neighbors", maxneighbors, rank, found.size());
  std::copy(found.begin(), found.end(), neighbors);
  return Err::ok;
}

}  // namespace dunlin::comm
