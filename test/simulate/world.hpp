// Many ranks in one process: messaging, an engine and a world communicator each.
//
// Ranks of one simulated node are joined by the real transport/shm, and reach each other's memory as
// memory.hpp says; ranks of different nodes by a simulated network (transport/sim).  So an engine has up to
// three transports: shm, self, sim.
//
// A run is a loop that polls the engines in an order that the seed decides, until all requests are complete
// or nothing moves any more.  Failing tests print the seed; the same seed replays the same run.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/process.hpp"
#include "object/request.hpp"
#include "progress/engine.hpp"
#include "test/simulate/memory.hpp"
#include "transport/self/transport.hpp"
#include "transport/shm/transport.hpp"
#include "transport/sim/network.hpp"

namespace dunlin::test {

/// Weather for a seed: anything from a calm lake with large messages to a storm of tiny ones.
transport::sim::Weather weather_of(std::uint64_t seed);

/// Which ranks are joined by shared memory, and what they can do with it.
struct Nodes {
  std::vector<int> of_rank;  // number of the node
  MemoryWeather memory;
  os::NearRanks near = {};
};

/// For the report of a seed: places, and what may happen to copies.
std::string describe(const Nodes& nodes);

/// The transport of a node, looked at when the dice say so.
class NodeTransport final : public transport::Transport {
 public:
  NodeTransport(std::unique_ptr<transport::shm::Transport> shm, transport::sim::Network& network) noexcept
      : shm_(std::move(shm)), network_(network) {}
  const char* name() const noexcept override { return "node"; }
  transport::Channel* connect(int peer) noexcept override { return shm_->connect(peer); }
  int poll(transport::Inbox& inbox) noexcept override {
    return is_looked_at() ? count(shm_->poll(inbox)) : 0;
  }
  int poll_peer(int peer, transport::Inbox& inbox) noexcept override {
    return is_looked_at() ? count(shm_->poll_peer(peer, inbox)) : 0;
  }
  transport::shm::Transport& shm() noexcept { return *shm_; }
  /// Messages so far.
  std::uint64_t delivered() const noexcept { return delivered_; }

 private:
  bool is_looked_at() noexcept { return !network_.chance(network_.weather().delay_percent); }
  int count(int messages) noexcept {
    delivered_ += std::uint64_t(messages);
    return messages;
  }

  const std::unique_ptr<transport::shm::Transport> shm_;
  transport::sim::Network& network_;
  std::uint64_t delivered_ = 0;
};

class World {
 public:
  /// All ranks are joined by the network, as if they were on one node; or on those of a map, without anything
  /// shared.
  World(int size, const transport::sim::Weather& weather);
  World(const boot::NodeMap& map, const transport::sim::Weather& weather);
  World(const Nodes& nodes, const transport::sim::Weather& weather);
  ~World();

  int size() const noexcept { return int(ranks_.size()); }
  transport::sim::Network& network() noexcept { return network_; }
  protocol::Messaging& messaging(int rank) noexcept { return ranks_[std::size_t(rank)]->messaging; }
  progress::Engine& engine(int rank) noexcept { return ranks_[std::size_t(rank)]->engine; }
  Comm& comm(int rank) noexcept { return *ranks_[std::size_t(rank)]->process.world; }
  bool has_memories() const noexcept { return !memories_.empty(); }
  /// Only of a world with nodes.
  RankMemory& memory(int rank) noexcept { return *memories_[std::size_t(rank)]; }
  /// Messages that have come, and copies made, by whatever way.
  std::uint64_t moves() const noexcept;

  /// Communicators of our own making, by rank; `context` as in Comm::context.  Ranks outside the group get
  /// nothing.
  std::vector<Ref<Comm>> intra(const std::vector<int>& members, std::uint64_t context);
  /// Ranks below `split` are one group, the others the second; takes three contexts.
  std::vector<Ref<Comm>> inter(int split, std::uint64_t context);

  /// Polls until all are complete (null ones are none).  On a hang the test fails, with what hangs.
  void finish(std::span<Request* const> requests);
  /// Polls until nothing moves any more.
  void settle();

 private:
  struct Rank {
    Rank(transport::sim::Network& network, int me, const boot::NodeMap& node_map, os::NearRanks near,
         std::unique_ptr<NodeTransport> node, peer::Memories* memories);
    ~Rank();
    void add(transport::Transport& transport) noexcept;
    const std::unique_ptr<NodeTransport> node;  // nullptr where the rank is alone on its node
    protocol::Messaging messaging;
    progress::Engine engine;
    transport::self::Transport self;
    comm::Process process;
  };
  bool poll_all();
  void report_hang(std::span<Request* const> requests);

  transport::sim::Network network_;
  std::vector<std::unique_ptr<RankMemory>> memories_;  // by rank
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<NodeTransport*> node_transports_;
};

/// What MPI_Wait does with a request that is complete.
void give_back(Request* request);

/// Registers the predefined objects of the standard, once.
void make_predefined_objects();

}  // namespace dunlin::test
