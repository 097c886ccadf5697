// What the random collectives run on: ranks on nodes, what these can do with each other's memory, limits,
// and communicators with a topology, all drawn from dice.
#pragma once

#include <string>

#include "test/simulate/collective_case.hpp"
#include "test/simulate/settings.hpp"

namespace dunlin::test {

/// Sizes of rings and limits, for half of the seeds those of a job.
Settings draw_limits(std::mt19937_64& dice);

/// So many ranks, joined by the network alone or on nodes; ranks of some nodes share CPUs.  `text`: what was
/// drawn.
std::unique_ptr<World> draw_world(int size, const transport::sim::Weather& weather, std::mt19937_64& dice,
                                  std::string& text);

/// Communicators of all ranks of `world` with a Cartesian topology, a graph or a distributed graph.
struct Topologies {
  Comms comms;
  Neighbors neighbors;
};
Topologies draw_topology(World& world, std::mt19937_64& dice);

/// The buffers of a case as those of the program, while this object lives.
class ProgramBuffers {
 public:
  ProgramBuffers(World& world, const std::vector<std::unique_ptr<Case>>& cases);
  ~ProgramBuffers();
  ProgramBuffers(const ProgramBuffers&) = delete;

 private:
  World& world_;
  std::vector<std::pair<int, const void*>> places_;  // by whose they are
};

}  // namespace dunlin::test
