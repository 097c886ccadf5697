#include "comm/topology.hpp"

#include <algorithm>
#include <numeric>

#include "comm/create.hpp"
#include "comm/functions.hpp"
#include "comm/region.hpp"

namespace dunlin::comm {
namespace {

const char* name_of(Topology::Kind kind) noexcept {
  switch (kind) {
    case Topology::Kind::cart:
      return "Cartesian";
    case Topology::Kind::graph:
      return "graph";
    case Topology::Kind::dist_graph:
      return "distributed graph";
  }
  return "";
}

}  // namespace

const Topology* topology_of(const Comm& comm, Topology::Kind kind, Err* error) noexcept {
  const Topology* found = comm.topology.get();
  *error = Err::ok;
  if (found && found->kind == kind) return found;
  *error = fail(Err::topology, "comm has no %s topology; it has %s", name_of(kind),
                found ? name_of(found->kind) : "none");
  return nullptr;
}

std::vector<int> first_ranks(int size) noexcept {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Err create_with_topology(Comm& comm, const std::vector<int>& ranks, std::shared_ptr<Topology> topology,
                         Comm** newcomm) noexcept {
  DUNLIN_ASSERT(!comm.is_inter());
  const int number = next_creation(comm).tag;  // counted by all, also by those who are left out
  const auto me = std::find(ranks.begin(), ranks.end(), comm.rank);
  if (me == ranks.end()) return *newcomm = nullptr, Err::ok;
  std::uint64_t context = 0;
  const coll::Cx cx = creation_among(comm, ranks, int(me - ranks.begin()), Plane::internal, number);
  const Err e = run_blocking(cx, [&](coll::Cx cx) { return share_context(cx, &context); });
  if (e != Err::ok) return e;

  Ref<Comm> made = make_unfinished(comm);
  Ref<Group> group = comm.group;
  if (ranks != first_ranks(comm.size)) {
    std::vector<int> members;
    for (const int rank : ranks) members.push_back(comm.group->member(rank));
    group = Ref<Group>::adopt(new Group(std::move(members), *comm.group));
  }
  set_group(*made, std::move(group));
  set_contexts(*made, {context, 0});
  if (const Err error = share_memory_of_domains(*made); error != Err::ok) return error;
  made->topology = std::move(topology);
  *newcomm = made.detach();
  return Err::ok;
}

Err topo_test(const Comm& comm, int* status) noexcept {
  if (!comm.topology) {
    *status = MPI_UNDEFINED;
    return Err::ok;
  }
  switch (comm.topology->kind) {
    case Topology::Kind::cart:
      *status = MPI_CART;
      break;
    case Topology::Kind::graph:
      *status = MPI_GRAPH;
      break;
    case Topology::Kind::dist_graph:
      *status = MPI_DIST_GRAPH;
      break;
  }
  return Err::ok;
}

}  // namespace dunlin::comm
