// Many ranks in one process: an engine and a world communicator each, joined by a simulated network
// (transport/sim).
//
// A run is a loop that polls the engines in an order that the seed decides, until all requests are complete
// or nothing moves any more.  Failing tests print the seed; the same seed replays the same run.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "comm/process.hpp"
#include "object/request.hpp"
#include "progress/engine.hpp"
#include "transport/self/transport.hpp"
#include "transport/sim/network.hpp"

namespace dunlin::test {

/// Weather for a seed: anything from a calm lake with large messages to a storm of tiny ones.
transport::sim::Weather weather_of(std::uint64_t seed);

class World {
 public:
  World(int size, const transport::sim::Weather& weather);
  ~World();

  int size() const noexcept { return int(ranks_.size()); }
  transport::sim::Network& network() noexcept { return network_; }
  progress::Engine& engine(int rank) noexcept { return ranks_[std::size_t(rank)]->engine; }
  Comm& comm(int rank) noexcept { return *ranks_[std::size_t(rank)]->process.world; }

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
    Rank(transport::sim::Network& network, int me, int size);
    ~Rank();
    progress::Engine engine;
    transport::self::Transport self;
    comm::Process process;
  };
  bool poll_all();
  void report_hang(std::span<Request* const> requests);

  transport::sim::Network network_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

/// What MPI_Wait does with a request that is complete.
void give_back(Request* request);

/// Registers the predefined objects of the standard, once.
void make_predefined_objects();

}  // namespace dunlin::test
