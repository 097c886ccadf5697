#include "test/simulate/collective_worlds.hpp"

#include <algorithm>
#include <array>

#include "comm/functions.hpp"
#include "test/simulate/fibers.hpp"

namespace dunlin::test {
namespace {

using RandomBits = std::mt19937_64;

std::uint64_t any_of(RandomBits& dice, std::initializer_list<std::uint64_t> values) {
  return values.begin()[dice() % values.size()];
}

/// In turn, in blocks, or anywhere.
std::vector<int> draw_places(int size, RandomBits& dice) {
  const int nodes = std::min(size, dice() % 2 ? 1 : 1 + int(dice() % 4));
  const std::uint64_t way = dice() % 3;
  std::vector<int> places;
  for (int rank = 0; rank < size; ++rank)
    places.push_back(way == 0   ? rank % nodes
                     : way == 1 ? rank * nodes / size
                                : int(dice() % std::uint64_t(nodes)));
  return places;
}

/// Half can map all, as where every rank has the allocator of the library and the kernel copies nothing.
MemoryWeather draw_memory(RandomBits& dice) {
  MemoryWeather memory;
  memory.maps = true;
  if (dice() % 2) {
    memory.decline = unsigned(any_of(dice, {0, 0, 0, 5}));
    return memory;
  }
  memory.maps = dice() % 10 < 6;
  memory.reads = dice() % 10 < 6;
  memory.shared = unsigned(any_of(dice, {0, 50, 90, 100}));
  memory.bare = unsigned(any_of(dice, {0, 0, 20, 60}));
  memory.decline = unsigned(any_of(dice, {0, 0, 10, 50}));
  memory.late = unsigned(any_of(dice, {0, 0, 30, 95}));
  memory.fork = unsigned(any_of(dice, {0, 0, 3, 20}));
  memory.freezes = true;  // an allreduce in place has no other copy of its operands
  return memory;
}

/// Every rank's part in a call that makes a communicator.
Comms make_comms(World& world, const std::function<Err(Comm& comm, int rank, Comm** made)>& make) {
  std::vector<Comm*> made(std::size_t(world.size()), nullptr);
  Fibers fibers(world, [&](int rank) {
    EXPECT_EQ(make(world.comm(rank), rank, &made[std::size_t(rank)]), Err::ok);
  });
  fibers.run();
  Comms comms;
  for (Comm* each : made) comms.push_back(Ref<Comm>::adopt(each));
  return comms;
}

/// What is sent downwards in a dimension comes from above (MPI 5.0, 8.6): of each rank, block 2d is for the
/// neighbor below in dimension d, and 2d + 1 for the one above.
Topologies draw_cart(World& world, RandomBits& dice) {
  const int dimensions = 1 + int(dice() % 3), size = world.size();
  std::array<int, 3> dims{}, periods{};
  EXPECT_EQ(comm::dims_create(size, dimensions, dims.data()), Err::ok);
  std::shuffle(dims.begin(), dims.begin() + dimensions, dice);
  for (int& each : periods) each = int(dice() % 2);
  Neighbors all;
  for (int rank = 0; rank < size; ++rank) {
    std::vector<int> around, numbers;
    int stride = size;
    for (std::size_t d = 0; d < std::size_t(dimensions); ++d) {
      stride /= dims[d];
      const int mine = rank / stride % dims[d];
      for (const int step : {-1, 1}) {
        const int theirs = periods[d] ? (mine + step + dims[d]) % dims[d] : mine + step;
        const bool is_there = theirs >= 0 && theirs < dims[d];
        around.push_back(is_there ? rank + (theirs - mine) * stride : MPI_PROC_NULL);
        numbers.push_back(2 * int(d) + (step < 0));
      }
    }
    all.sources.push_back(around);
    all.destinations.push_back(around);
    all.numbers.push_back(numbers);
  }
  return {make_comms(world, [&](Comm& comm, int, Comm** made) {
            return comm::cart_create(comm, dimensions, dims.data(), periods.data(), 0, made);
          }),
          all};
}

/// Blocks from the same rank come in the order in which that one names this rank.
void number_in_order(Neighbors& all) {
  const std::size_t ranks = all.sources.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<std::size_t> next(ranks, 0);
    all.numbers.emplace_back();
    for (const int source : all.sources[rank]) {
      const std::vector<int>& theirs = all.destinations[std::size_t(source)];
      std::size_t& from = next[std::size_t(source)];
      while (theirs[from] != int(rank)) ++from;
      all.numbers[rank].push_back(int(from++));
    }
  }
}

/// Edges between any two ranks, also several and to oneself; ranks without any, and all at one.
Neighbors draw_edges(int size, bool are_both_ways, RandomBits& dice) {
  Neighbors all;
  all.sources.resize(std::size_t(size));
  all.destinations.resize(std::size_t(size));
  const auto any_rank = [&] { return std::size_t(dice() % 4 ? dice() % std::uint64_t(size) : 0); };
  for (std::uint64_t edges = dice() % std::uint64_t(3 * size + 1); edges > 0; --edges) {
    const std::size_t from = any_rank(), to = any_rank();
    all.destinations[from].push_back(int(to));
    all.sources[to].push_back(int(from));
    if (!are_both_ways || from == to) continue;
    all.destinations[to].push_back(int(from));
    all.sources[from].push_back(int(to));
  }
  for (std::size_t rank = 0; rank < std::size_t(size); ++rank) {
    std::shuffle(all.destinations[rank].begin(), all.destinations[rank].end(), dice);
    std::shuffle(all.sources[rank].begin(), all.sources[rank].end(), dice);
    if (are_both_ways) all.sources[rank] = all.destinations[rank];
  }
  number_in_order(all);
  return all;
}

Topologies draw_graph(World& world, RandomBits& dice) {
  const Neighbors all = draw_edges(world.size(), true, dice);
  std::vector<int> index, edges;
  for (const std::vector<int>& each : all.destinations) {
    edges.insert(edges.end(), each.begin(), each.end());
    index.push_back(int(edges.size()));
  }
  return {make_comms(world, [&](Comm& comm, int, Comm** made) {
            return comm::graph_create(comm, comm.size, index.data(), edges.data(), 0, made);
          }),
          all};
}

Topologies draw_dist_graph(World& world, RandomBits& dice) {
  const Neighbors all = draw_edges(world.size(), false, dice);
  return {make_comms(world, [&](Comm& comm, int rank, Comm** made) {
            const std::vector<int>&sources = all.sources[std::size_t(rank)],
                  &destinations = all.destinations[std::size_t(rank)];
            return comm::dist_graph_create_adjacent(comm, int(sources.size()), sources.data(),
                                                    MPI_UNWEIGHTED, int(destinations.size()),
                                                    destinations.data(), MPI_UNWEIGHTED, nullptr, 0, made);
          }),
          all};
}

}  // namespace

Settings draw_limits(RandomBits& dice) {
  if (dice() % 2) return Settings({});
  return Settings({{"EAGER_BYTES", any_of(dice, {1, 64, 1000, 4096, 16384, 16384})},
                   {"UNEXPECTED_BYTES", any_of(dice, {0, 200, 5000, 1 << 30, 1 << 30})},
                   {"SHARED_COPY_BYTES", any_of(dice, {1, 64, 1000, 16384})},
                   {"SHARED_COPY_CHUNK_BYTES", any_of(dice, {64, 1024, 65536})},
                   {"SHARED_COPY_HELP_POLLS", any_of(dice, {0, 3, 32})},
                   {"SHM_RING_LINES", any_of(dice, {4, 16, 256})},
                   {"SHM_BULK_BYTES", any_of(dice, {1024, 4096, 65536, 1 << 20})},
                   {"SHM_CELLS", any_of(dice, {1, 4, 64})},
                   {"SHM_CELL_BYTES", any_of(dice, {64, 256})},
                   {"SHM_INBOX_MESSAGES", any_of(dice, {0, 1, 4, 100})},
                   {"COLL_SHARED_BYTES", any_of(dice, {0, 8, 64, 1000, 16384})}});
}

std::unique_ptr<World> draw_world(int size, const transport::sim::Weather& weather, RandomBits& dice,
                                  std::string& text) {
  std::unique_ptr<World> world;
  std::vector<int> places(std::size_t(size), 0);
  if (dice() % 2) {
    world = std::make_unique<World>(size, weather);
  } else {
    constexpr os::NearRanks kNear[] = {{}, {4, 2}, {0, 3}, {6, 6}};
    Nodes nodes{draw_places(size, dice), draw_memory(dice), kNear[dice() % std::size(kNear)]};
    text += describe(nodes);
    places = nodes.of_rank;
    world = std::make_unique<World>(nodes, weather);
  }
  if (dice() % 8) return world;
  const std::uint64_t which = 1 + dice() % 15;  // a bit for each node
  text += "; nodes that share CPUs: " + std::to_string(which);
  for (int rank = 0; rank < size; ++rank) {
    world->engine(rank).set_oversubscribed(which >> places[std::size_t(rank)] & 1);
    world->engine(rank).set_job_shares_cores(true);
  }
  return world;
}

Topologies draw_topology(World& world, RandomBits& dice) {
  switch (dice() % 3) {
    case 0: return draw_cart(world, dice);
    case 1: return draw_graph(world, dice);
    default: return draw_dist_graph(world, dice);
  }
}

ProgramBuffers::ProgramBuffers(World& world, const std::vector<std::unique_ptr<Case>>& cases)
    : world_(world) {
  if (!world.has_memories()) return;
  for (const auto& each : cases)
    each->each_buffer([&](int rank, const Buffer& buffer) {
      world_.memory(rank).add_buffer(buffer.memory().data(), buffer.memory().size());
      places_.emplace_back(rank, buffer.memory().data());
    });
}

ProgramBuffers::~ProgramBuffers() {
  for (const auto& [rank, at] : places_) world_.memory(rank).remove_buffer(at);
}

}  // namespace dunlin::test
