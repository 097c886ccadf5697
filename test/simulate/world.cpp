#include "test/simulate/world.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "op/op.hpp"

namespace dunlin::test {

transport::sim::Weather weather_of(std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  transport::sim::Weather weather;
  weather.seed = seed;
  weather.bytes_max = std::vector<std::size_t>{72, 200, 1000, 8192, 1 << 20}[dice() % 5];
  weather.messages_max = 1 + dice() % 12;
  weather.refuse_percent = dice() % 2 ? unsigned(dice() % 60) : 0;
  weather.delay_percent = unsigned(dice() % 90);
  return weather;
}

void give_back(Request* request) {
  ASSERT_TRUE(request->is_complete);
  if (!request->is_static) request->release();
}

void make_predefined_objects() {
  static const bool done = [] {
    init_predefined_errhandlers();
    init_predefined_datatypes();
    init_predefined_ops();
    return true;
  }();
  ASSERT_TRUE(done);
}

namespace {

std::unique_ptr<NodeTransport> open_node(int fd, int local_rank, const std::vector<int>& peers,
                                         transport::sim::Network& network) {
  auto opened =
      transport::shm::Transport::open({.fd = fd, .offset = 0, .local_rank = local_rank, .node_peers = peers});
  if (!opened) std::abort();
  return std::make_unique<NodeTransport>(std::move(*opened), network);
}

}  // namespace

World::Rank::Rank(transport::sim::Network& network, int me, const boot::NodeMap& node_map, os::NearRanks near,
                  std::unique_ptr<NodeTransport> node_transport, peer::Memories* memories)
    : node(std::move(node_transport)), messaging(me, network.size()), engine(messaging), self(me, messaging) {
  if (node) {
    messaging.peers.join_node(node->shm(), *memories);
    add(*node);
  }
  add(self);
  add(network.transport(me));
  process.messaging = &messaging;
  process.engine = &engine;
  process.me = me;
  process.world_size = network.size();
  process.node_map = node_map;
  process.near_ranks = near;
  process.node_peers = node_map.ranks_of(node_map.node_of(me));
  comm::create_world(process);
}

void World::Rank::add(transport::Transport& transport) noexcept {
  messaging.add(transport);
  engine.add(transport);
}

World::Rank::~Rank() {
  process.world = {};
  process.self = {};
}

World::World(int size, const transport::sim::Weather& weather) : World(boot::NodeMap(size), weather) {}

World::World(const boot::NodeMap& map, const transport::sim::Weather& weather)
    : network_(map.ranks(), weather) {
  make_predefined_objects();
  for (int me = 0; me < map.ranks(); ++me)
    ranks_.push_back(std::make_unique<Rank>(network_, me, map, os::NearRanks(), nullptr, nullptr));
}

World::World(const Nodes& nodes, const transport::sim::Weather& weather)
    : network_(int(nodes.of_rank.size()), weather) {
  make_predefined_objects();
  const boot::NodeMap map(nodes.of_rank);
  for (int me = 0; me < map.ranks(); ++me)
    memories_.push_back(std::make_unique<RankMemory>(network_, memories_, nodes.memory));
  ranks_.resize(nodes.of_rank.size());
  for (int node = 0; node < map.nodes(); ++node) {
    const std::vector<int> peers = map.ranks_of(node);
    const int fd = memfd_create("dunlin-node", MFD_CLOEXEC);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const auto me = std::size_t(peers[i]);
      std::unique_ptr<NodeTransport> transport;
      if (peers.size() > 1) {
        transport = open_node(fd, int(i), peers, network_);
        node_transports_.push_back(transport.get());
      }
      ranks_[me] = std::make_unique<Rank>(network_, int(me), map, nodes.near, std::move(transport),
                                          memories_[me].get());
    }
    close(fd);
  }
}

World::~World() = default;

std::vector<Ref<Comm>> World::intra(const std::vector<int>& members, std::uint64_t context) {
  std::vector<Ref<Comm>> comms(ranks_.size());
  for (const int member : members) {
    auto made = Ref<Comm>::adopt(new Comm);
    made->context = context;
    made->messaging = &messaging(member);
    made->engine = &engine(member);
    made->group = Ref<Group>::adopt(new Group(members, member));
    made->rank = made->group->rank();
    made->size = made->target_size = made->group->size();
    made->target_members = made->group->members();
    made->errhandler = Ref<Errhandler>(&errors_return());
    comms[std::size_t(member)] = std::move(made);
  }
  return comms;
}

std::vector<Ref<Comm>> World::inter(int split, std::uint64_t context) {
  std::vector<int> low(std::size_t(split), 0), high(std::size_t(size() - split), 0);
  std::iota(low.begin(), low.end(), 0);
  std::iota(high.begin(), high.end(), split);
  const auto local_low = intra(low, context + 4), local_high = intra(high, context + 8);
  auto comms = intra(low, context);
  const auto others = intra(high, context);
  for (int rank = 0; rank < size(); ++rank) {
    const bool is_low = rank < split;
    const auto at = std::size_t(rank);
    if (!is_low) comms[at] = others[at];
    Comm& comm = *comms[at];
    comm.remote_group = Ref<Group>::adopt(new Group(is_low ? high : low, rank));
    comm.local_comm = is_low ? local_low[at] : local_high[at];
    comm.target_members = comm.remote_group->members();
    comm.target_size = comm.remote_group->size();
  }
  return comms;
}

std::uint64_t World::moves() const noexcept {
  std::uint64_t moves = network_.delivered();
  for (const NodeTransport* node : node_transports_) moves += node->delivered();
  for (const auto& memory : memories_) moves += memory->copies();
  return moves;
}

bool World::poll_all() {
  bool moved = false;
  const int first = int(network_.roll(ranks_.size()));
  for (int i = 0; i < size(); ++i) moved |= engine((first + i) % size()).poll();
  return moved;
}

void World::settle() {
  constexpr int kIdleRoundsMax = 300;  // chance may hold everything up for a while
  for (int idle = 0; idle < kIdleRoundsMax; ++idle)
    if (poll_all()) idle = 0;
}

void World::finish(std::span<Request* const> requests) {
  constexpr int kIdleRoundsMax = 2000;
  const auto is_done = [](const Request* each) { return !each || each->is_complete; };
  for (int idle = 0; idle < kIdleRoundsMax; ++idle) {
    if (std::all_of(requests.begin(), requests.end(), is_done)) return;
    if (poll_all()) idle = 0;
  }
  report_hang(requests);
}

void World::report_hang(std::span<Request* const> requests) {
  std::string text;
  for (const Request* each : requests) {
    if (!each || each->is_complete) continue;
    WaitReason reason;
    each->explain(reason);
    text += std::string("\n  waits: ") + reason.what + " of rank " + std::to_string(reason.peer);
  }
  FAIL() << "nothing moves any more; " << network_.under_way() << " messages under way; seed "
         << network_.weather().seed << text;
}

std::string describe(const Nodes& nodes) {
  const MemoryWeather& memory = nodes.memory;
  std::string text = "; nodes of ranks:";
  for (const int node : nodes.of_rank) text += " " + std::to_string(node);
  return text + (memory.maps ? "; maps" : "") + (memory.reads ? "; reads" : "") + ", " +
         std::to_string(memory.shared) + " % shared, " + std::to_string(memory.bare) + " % bare, " +
         std::to_string(memory.decline) + " % decline, " + std::to_string(memory.late) + " % late, " +
         std::to_string(memory.fork) + " % fork";
}

}  // namespace dunlin::test
