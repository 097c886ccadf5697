// Cartesian topologies (MPI 5.0, 8.5.1, 8.5.5 to 8.5.7).  Ranks are row-major; new ones, where the program
// allows them: reorder.hpp.
#include <algorithm>
#include <cstdint>

#include "comm/functions.hpp"
#include "comm/region.hpp"
#include "comm/reorder.hpp"
#include "comm/split.hpp"
#include "comm/topology.hpp"

namespace dunlin::comm {
namespace {

int dimension_count(const Topology& topology) noexcept { return int(topology.dims.size()); }

/// Number of processes of a grid; fails where it is larger than `processes`.
Err grid_size(int ndims, const int* dims, int processes, int* size) noexcept {
  if (ndims < 0) return fail(Err::dims, "ndims is %d; give 0 or more", ndims);
  std::int64_t product = 1;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 1) return fail(Err::dims, "dims[%d] is %d; give at least 1", i, dims[i]);
    product *= dims[i];
    if (product > processes)
      return fail(Err::dims, "dims ask for more processes than the communicator has: %d", processes);
  }
  *size = int(product);
  return Err::ok;
}

void coords_of(const Topology& topology, int rank, int* coords) noexcept {
  for (int i = dimension_count(topology) - 1; i >= 0; --i) {
    coords[i] = rank % topology.dims[std::size_t(i)];
    rank /= topology.dims[std::size_t(i)];
  }
}

int rank_of(const Topology& topology, const int* coords) noexcept {
  int rank = 0;
  for (int i = 0; i < dimension_count(topology); ++i) rank = rank * topology.dims[std::size_t(i)] + coords[i];
  return rank;
}

/// The rank `distance` steps along a dimension, or MPI_PROC_NULL beyond an open end.
int neighbor(const Topology& topology, int rank, int dimension, std::int64_t distance) noexcept {
  std::vector<int> coords(topology.dims.size());
  coords_of(topology, rank, coords.data());
  const std::int64_t length = topology.dims[std::size_t(dimension)];
  std::int64_t there = coords[std::size_t(dimension)] + distance;
  if (there < 0 || there >= length) {
    if (!topology.periods[std::size_t(dimension)]) return MPI_PROC_NULL;
    there = (there % length + length) % length;
  }
  coords[std::size_t(dimension)] = int(there);
  return rank_of(topology, coords.data());
}

Err check_room(const char* argument, int room, const Topology& topology) noexcept {
  if (room < dimension_count(topology))
    return fail(Err::arg, "%s is %d; the topology has %d dimensions", argument, room,
                dimension_count(topology));
  return Err::ok;
}

/// Ranks stay as they are where the grid leaves some out.
std::vector<int> reordered(const Comm& comm, const std::vector<int>& dims, int size) noexcept {
  return size == comm.size ? ranks_of_grid(places_of(comm), dims) : first_ranks(size);
}

}  // namespace

void find_cart_neighbors(Topology& topology, int rank) noexcept {
  for (int i = 0; i < dimension_count(topology); ++i) {
    for (int distance : {-1, 1}) {
      topology.mine.sources.push_back(neighbor(topology, rank, i, distance));
      topology.mine.destinations.push_back(topology.mine.sources.back());
    }
    topology.mine.arrivals.insert(topology.mine.arrivals.end(), {2 * i + 1, 2 * i});
  }
}

Err cart_create(Comm& comm, int ndims, const int* dims, const int* periods, int reorder,
                Comm** newcomm) noexcept {
  if (comm.is_inter())
    return fail(Err::comm, "comm_old is an inter-communicator; give an intra-communicator");
  int size = 0;
  if (Err e = grid_size(ndims, dims, comm.size, &size); e != Err::ok) return e;
  auto topology = std::make_shared<Topology>(Topology::Kind::cart);
  topology->dims.assign(dims, dims + ndims);
  for (int i = 0; i < ndims; ++i) topology->periods.push_back(periods[i] != 0);
  const std::vector<int> ranks = reorder ? reordered(comm, topology->dims, size) : first_ranks(size);
  const auto me = std::find(ranks.begin(), ranks.end(), comm.rank);
  if (me != ranks.end()) find_cart_neighbors(*topology, int(me - ranks.begin()));
  return create_with_topology(comm, ranks, std::move(topology), newcomm);
}

Err cart_map(const Comm& comm, int ndims, const int* dims, const int* periods, int* newrank) noexcept {
  int size = 0;
  if (Err e = grid_size(ndims, dims, comm.size, &size); e != Err::ok) return e;
  const std::vector<int> ranks = reordered(comm, {dims, dims + ndims}, size);
  const auto me = std::find(ranks.begin(), ranks.end(), comm.rank);
  *newrank = me != ranks.end() ? int(me - ranks.begin()) : MPI_UNDEFINED;
  return Err::ok;
}

Err cartdim_get(const Comm& comm, int* ndims) noexcept {
  Err error;
  const Topology* topology = topology_of(comm, Topology::Kind::cart, &error);
  if (topology) *ndims = dimension_count(*topology);
  return error;
}

Err cart_get(const Comm& comm, int maxdims, int* dims, int* periods, int* coords) noexcept {
  Err error;
  const Topology* topology = topology_of(comm, Topology::Kind::cart, &error);
  if (!topology) return error;
  if (Err e = check_room("maxdims", maxdims, *topology); e != Err::ok) return e;
  std::copy(topology->dims.begin(), topology->dims.end(), dims);
  std::copy(topology->periods.begin(), topology->periods.end(), periods);
  coords_of(*topology, comm.rank, coords);
  return Err::ok;
}

Err cart_rank(const Comm& comm, const int* coords, int* rank) noexcept {
  Err error;
  const Topology* topology = topology_of(comm, Topology::Kind::cart, &error);
  if (!topology) return error;
  std::vector<int> inside(coords, coords + dimension_count(*topology));
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const int length = topology->dims[i];
    if (inside[i] >= 0 && inside[i] < length) continue;
    if (!topology->periods[i])
      return fail(Err::arg, "coords[%zu] is %d; this dimension is not periodic and goes from 0 to %d", i,
                  inside[i], length - 1);
    inside[i] = (inside[i] % length + length) % length;
  }
  *rank = rank_of(*topology, inside.data());
  return Err::ok;
}

Err cart_coords(const Comm& comm, int rank, int maxdims, int* coords) noexcept {
  Err error;
  const Topology* topology = topology_of(comm, Topology::Kind::cart, &error);
  if (!topology) return error;
  if (rank < 0 || rank >= comm.size) return fail(Err::rank, "rank is %d; comm has %d ranks", rank, comm.size);
  if (Err e = check_room("maxdims", maxdims, *topology); e != Err::ok) return e;
  coords_of(*topology, rank, coords);
  return Err::ok;
}

Err cart_shift(const Comm& comm, int direction, int disp, int* rank_source, int* rank_dest) noexcept {
  Err error;
  const Topology* topology = topology_of(comm, Topology::Kind::cart, &error);
  if (!topology) return error;
  if (direction < 0 || direction >= dimension_count(*topology))
    return fail(Err::arg, "direction is %d; the topology has %d dimensions", direction,
                dimension_count(*topology));
  *rank_source = neighbor(*topology, comm.rank, direction, -std::int64_t(disp));
  *rank_dest = neighbor(*topology, comm.rank, direction, disp);
  return Err::ok;
}

Err cart_sub(Comm& comm, const int* remain_dims, Comm** newcomm) noexcept {
  Err error;
  const Topology* topology = topology_of(comm, Topology::Kind::cart, &error);
  if (!topology) return error;
  std::vector<int> coords(topology->dims.size());
  coords_of(*topology, comm.rank, coords.data());
  auto remaining = std::make_shared<Topology>(Topology::Kind::cart);
  int color = 0, key = 0;  // place among the dimensions that go, and among those that remain
  for (std::size_t i = 0; i < coords.size(); ++i) {
    int& place = remain_dims[i] ? key : color;
    place = place * topology->dims[i] + coords[i];
    if (!remain_dims[i]) continue;
    remaining->dims.push_back(topology->dims[i]);
    remaining->periods.push_back(topology->periods[i]);
  }
  Comm* made = nullptr;
  if (Err e = split(comm, color, key, &made); e != Err::ok) return e;
  DUNLIN_ASSERT(made->rank == key);
  find_cart_neighbors(*remaining, key);
  made->topology = std::move(remaining);
  *newcomm = made;
  return Err::ok;
}

}  // namespace dunlin::comm
