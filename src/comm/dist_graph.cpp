// Distributed graphs (MPI 5.0, 8.5.4, 8.5.5): every process knows the edges it gave, or that end at it.
//
// MPI_Dist_graph_create tells both ends of every edge: an alltoall of counts and an alltoallv of the edges.
// Cost: 2 p alpha in the worst case and the edges themselves; memory O(p) while it lasts.
//
// With `reorder` the process that gets rank r of the new communicator gets the edges of rank r of the old
// one.
#include <algorithm>
#include <climits>

#include "base/variable.hpp"
#include "coll/functions.hpp"
#include "comm/create.hpp"
#include "comm/functions.hpp"
#include "comm/region.hpp"
#include "comm/reorder.hpp"
#include "comm/topology.hpp"

namespace dunlin::comm {
namespace {

// Each process needs 120 bytes for an edge while it works the order out: 30 MiB for these.
IntVariable reorder_edges_max{"COMM_REORDER_EDGES", 1 << 18, "edges",
                              "distributed graphs of more edges keep the order of their ranks", 0, 1 << 26};

bool is_weighted(const int* weights) noexcept { return weights != MPI_UNWEIGHTED; }

Err check_ranks(const char* name, const int* ranks, int n, int size) noexcept {
  for (int i = 0; i < n; ++i)
    if (ranks[i] < 0 || ranks[i] >= size)
      return fail(Err::rank, "%s[%d] is %d; the communicator has %d ranks", name, i, ranks[i], size);
  return Err::ok;
}

Err check_weights(const char* name, const int* weights, int n) noexcept {
  if (weights == MPI_UNWEIGHTED || (weights == MPI_WEIGHTS_EMPTY && n == 0)) return Err::ok;
  if (weights == MPI_WEIGHTS_EMPTY || (!weights && n > 0))
    return fail(Err::arg, "%s has no weights for %d edges; give MPI_UNWEIGHTED or an array", name, n);
  for (int i = 0; i < n; ++i)
    if (weights[i] < 0) return fail(Err::arg, "%s[%d] is %d; weights are not negative", name, i, weights[i]);
  return Err::ok;
}

void assign(std::vector<int>& to, const int* from, int n) noexcept {
  if (n > 0) to.assign(from, from + n);
}

/// One end's view of an edge, as it travels.
struct End {
  int other;
  int is_outgoing;  // seen from the receiver
  int weight;
};
constexpr int kEndInts = sizeof(End) / sizeof(int);
static_assert(kEndInts == 3);

struct Outbox {
  explicit Outbox(int size) noexcept : by_rank(std::size_t(size)) {}
  std::vector<std::vector<End>> by_rank;
};

/// Everybody's outboxes to everybody; in the order of the senders' ranks.
Err deliver(Comm& comm, const Outbox& outbox, std::vector<End>* inbox) noexcept {
  const Datatype& ints = *from_handle<Datatype>(MPI_INT);
  const std::size_t size = outbox.by_rank.size();
  std::vector<int> counts_out(size), counts_in(size), starts_out(size), starts_in(size);
  std::vector<End> out;
  for (std::size_t i = 0; i < size; ++i) {
    counts_out[i] = int(outbox.by_rank[i].size()) * kEndInts;
    starts_out[i] = int(out.size()) * kEndInts;
    out.insert(out.end(), outbox.by_rank[i].begin(), outbox.by_rank[i].end());
  }
  if (Err e = coll::alltoall(counts_out.data(), 1, &ints, counts_in.data(), 1, ints, comm); e != Err::ok)
    return e;
  int total = 0;
  for (std::size_t i = 0; i < size; ++i) {
    starts_in[i] = total;
    total += counts_in[i];
  }
  inbox->resize(std::size_t(total / kEndInts));
  return coll::alltoallv(out.data(), {counts_out.data(), false}, {starts_out.data(), false}, &ints,
                         inbox->data(), {counts_in.data(), false}, {starts_in.data(), false}, ints, comm);
}

/// This process's edges in the order of `mine`: first those that come in.  Where edges have no weights: 1.
std::vector<End> ends_of(const Topology& topology) noexcept {
  std::vector<End> ends;
  const auto add = [&](const std::vector<int>& others, int is_outgoing, const std::vector<int>& weights) {
    for (std::size_t i = 0; i < others.size(); ++i)
      ends.push_back({others[i], is_outgoing, topology.is_weighted ? weights[i] : 1});
  };
  add(topology.mine.sources, 0, topology.source_weights);
  add(topology.mine.destinations, 1, topology.destination_weights);
  return ends;
}

void take_ends(Topology& topology, std::span<const End> ends) noexcept {
  topology.mine = {};
  topology.source_weights.clear();
  topology.destination_weights.clear();
  for (const End& end : ends) {
    (end.is_outgoing ? topology.mine.destinations : topology.mine.sources).push_back(end.other);
    if (topology.is_weighted)
      (end.is_outgoing ? topology.destination_weights : topology.source_weights).push_back(end.weight);
  }
}

/// New ranks, and in `topology` the edges of this process's new one.  Every process gets all edges, 12 bytes
/// for each of their ends, and works the same order out.  That grows with all edges of the graph, not with
/// the process's own ones: where they are too many, ranks stay as they are.
Err reorder_ranks(Comm& comm, Topology& topology, std::vector<int>* ranks) noexcept {
  const std::vector<coll::MemberPlace> places = places_of(comm);
  if (!is_order_of_use(places)) return Err::ok;
  const Datatype& ints = *from_handle<Datatype>(MPI_INT);
  const std::vector<End> mine = ends_of(topology);
  const auto size = std::size_t(comm.size);
  const int count = int(std::min(mine.size(), std::size_t(INT_MAX / kEndInts))) * kEndInts;
  std::vector<int> counts(size), starts(size);
  if (Err e = coll::allgather(&count, 1, &ints, counts.data(), 1, ints, comm); e != Err::ok) return e;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (total + counts[i] > reorder_edges_max.get() * 2 * kEndInts) return Err::ok;
    starts[i] = int(total);
    total += counts[i];
  }
  std::vector<End> all(std::size_t(total / kEndInts));
  if (Err e = coll::allgatherv(mine.data(), count, &ints, all.data(), {counts.data(), false},
                               {starts.data(), false}, ints, comm);
      e != Err::ok)
    return e;
  const auto ends_at = [&](std::size_t rank) {
    return std::span(all).subspan(std::size_t(starts[rank] / kEndInts), std::size_t(counts[rank] / kEndInts));
  };
  std::vector<Edge> edges;
  for (std::size_t rank = 0; rank < size; ++rank)
    for (const End& end : ends_at(rank)) edges.push_back({int(rank), end.other, end.weight});
  *ranks = ranks_of_graph(places, edges);
  const auto me = std::find(ranks->begin(), ranks->end(), comm.rank);
  take_ends(topology, ends_at(std::size_t(me - ranks->begin())));
  return Err::ok;
}

Err create_with_hints(Comm& comm, std::shared_ptr<Topology> topology, const Info* info, int reorder,
                      Comm** newcomm) noexcept {
  std::vector<int> ranks = first_ranks(comm.size);
  if (reorder)
    if (Err e = reorder_ranks(comm, *topology, &ranks); e != Err::ok) return e;
  const Err e = create_with_topology(comm, ranks, std::move(topology), newcomm);
  if (e == Err::ok && info) set_hints(**newcomm, *info);
  return e;
}

}  // namespace

Err dist_graph_create_adjacent(Comm& comm, int indegree, const int* sources, const int* sourceweights,
                               int outdegree, const int* destinations, const int* destweights, Info* info,
                               int reorder, Comm** newcomm) noexcept {
  if (comm.is_inter())
    return fail(Err::comm, "comm_old is an inter-communicator; give an intra-communicator");
  if (Err e = check_ranks("sources", sources, indegree, comm.size); e != Err::ok) return e;
  if (Err e = check_ranks("destinations", destinations, outdegree, comm.size); e != Err::ok) return e;
  if (Err e = check_weights("sourceweights", sourceweights, indegree); e != Err::ok) return e;
  if (Err e = check_weights("destweights", destweights, outdegree); e != Err::ok) return e;
  auto topology = std::make_shared<Topology>(Topology::Kind::dist_graph);
  topology->is_weighted = is_weighted(sourceweights) && is_weighted(destweights);
  assign(topology->mine.sources, sources, indegree);
  assign(topology->mine.destinations, destinations, outdegree);
  if (topology->is_weighted) {
    assign(topology->source_weights, sourceweights, indegree);
    assign(topology->destination_weights, destweights, outdegree);
  }
  return create_with_hints(comm, std::move(topology), info, reorder, newcomm);
}

Err dist_graph_create(Comm& comm, int n, const int* sources, const int* degrees, const int* destinations,
                      const int* weights, Info* info, int reorder, Comm** newcomm) noexcept {
  if (comm.is_inter())
    return fail(Err::comm, "comm_old is an inter-communicator; give an intra-communicator");
  if (Err e = check_ranks("sources", sources, n, comm.size); e != Err::ok) return e;
  int edges = 0;
  for (int i = 0; i < n; ++i) {
    if (degrees[i] < 0)
      return fail(Err::arg, "degrees[%d] is %d; a number of edges must not be negative", i, degrees[i]);
    edges += degrees[i];
  }
  if (Err e = check_ranks("destinations", destinations, edges, comm.size); e != Err::ok) return e;
  if (Err e = check_weights("weights", weights, edges); e != Err::ok) return e;

  auto topology = std::make_shared<Topology>(Topology::Kind::dist_graph);
  topology->is_weighted = is_weighted(weights);
  Outbox outbox(comm.size);
  for (int i = 0, edge = 0; i < n; ++i)
    for (int k = 0; k < degrees[i]; ++k, ++edge) {
      const int weight = topology->is_weighted ? weights[edge] : 0;
      outbox.by_rank[std::size_t(sources[i])].push_back({destinations[edge], 1, weight});
      outbox.by_rank[std::size_t(destinations[edge])].push_back({sources[i], 0, weight});
    }
  std::vector<End> mine;
  if (Err e = deliver(comm, outbox, &mine); e != Err::ok) return e;
  take_ends(*topology, mine);
  return create_with_hints(comm, std::move(topology), info, reorder, newcomm);
}

Err dist_graph_neighbors_count(const Comm& comm, int* indegree, int* outdegree, int* weighted) noexcept {
  Err error;
  const Topology* topology = topology_of(comm, Topology::Kind::dist_graph, &error);
  if (!topology) return error;
  *indegree = int(topology->mine.sources.size());
  *outdegree = int(topology->mine.destinations.size());
  *weighted = topology->is_weighted;
  return Err::ok;
}

Err dist_graph_neighbors(const Comm& comm, int maxindegree, int* sources, int* sourceweights,
                         int maxoutdegree, int* destinations, int* destweights) noexcept {
  Err error;
  const Topology* topology = topology_of(comm, Topology::Kind::dist_graph, &error);
  if (!topology) return error;
  const auto give = [](const std::vector<int>& from, int room, int* to) {
    std::copy_n(from.begin(), std::min(from.size(), std::size_t(room)), to);
  };
  give(topology->mine.sources, maxindegree, sources);
  give(topology->mine.destinations, maxoutdegree, destinations);
  if (!topology->is_weighted) return Err::ok;
  if (is_weighted(sourceweights)) give(topology->source_weights, maxindegree, sourceweights);
  if (is_weighted(destweights)) give(topology->destination_weights, maxoutdegree, destweights);
  return Err::ok;
}

}  // namespace dunlin::comm
