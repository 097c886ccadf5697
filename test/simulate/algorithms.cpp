// Conformance of every algorithm of every collective: forced by its setting, on every number of ranks up
// to 17.
#include <cstdlib>

#include "base/variable.hpp"
#include "test/simulate/collective_case.hpp"

namespace dunlin::test {
namespace {

struct Algorithm {
  const char* setting;
  const char* word;
  std::vector<int> movements, reductions;  // kinds of cases that use it
};

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> all = {
      {"BARRIER", "dissemination", {0}, {}},
      {"BARRIER", "hierarchical", {0}, {}},
      {"BARRIER", "shared", {0}, {}},
      {"BCAST", "binomial", {1}, {}},
      {"BCAST", "scatter_allgather", {1}, {}},
      {"BCAST", "hierarchical", {1}, {}},
      {"BCAST", "shared", {1}, {}},
      {"BCAST", "direct", {1}, {}},
      {"GATHER", "binomial", {2}, {}},
      {"GATHER", "linear", {2, 3}, {}},
      {"GATHER", "hierarchical", {2}, {}},
      {"GATHER", "shared", {2}, {}},
      {"GATHER", "direct", {2}, {}},
      {"SCATTER", "binomial", {4}, {}},
      {"SCATTER", "linear", {4, 5}, {}},
      {"SCATTER", "hierarchical", {4}, {}},
      {"SCATTER", "shared", {4}, {}},
      {"SCATTER", "direct", {4}, {}},
      {"ALLGATHER", "bruck", {6}, {}},
      {"ALLGATHER", "ring", {6, 7}, {}},
      {"ALLGATHER", "hierarchical", {6, 7}, {}},
      {"ALLGATHER", "shared", {6, 7}, {}},
      {"ALLGATHER", "direct", {6, 7}, {}},
      {"ALLTOALL", "bruck", {8}, {}},
      {"ALLTOALL", "pairwise", {8, 9, 10}, {}},
      {"ALLTOALL", "hierarchical", {8}, {}},
      {"ALLTOALL", "shared", {8}, {}},
      {"ALLTOALL", "direct", {8}, {}},
      {"REDUCE", "binomial", {}, {0}},
      {"REDUCE", "hierarchical", {}, {0}},
      {"REDUCE", "shared", {}, {0}},
      {"REDUCE", "direct", {}, {0}},
      {"ALLREDUCE", "recursive_doubling", {}, {1}},
      {"ALLREDUCE", "rabenseifner", {}, {1}},
      {"ALLREDUCE", "ring", {}, {1}},
      {"ALLREDUCE", "hierarchical", {}, {1}},
      {"ALLREDUCE", "shared", {}, {1}},
      {"ALLREDUCE", "direct", {}, {1}},
      {"SCAN", "recursive_doubling", {}, {2, 3}},
      {"SCAN", "hierarchical", {}, {2, 3}},
      {"SCAN", "shared", {}, {2, 3}},
      {"SCAN", "direct", {}, {2, 3}},
      {"REDUCE_SCATTER", "by_reduce", {}, {4, 5}},
      {"REDUCE_SCATTER", "pairwise", {}, {4, 5}},
      {"REDUCE_SCATTER", "hierarchical", {}, {4, 5}},
      {"REDUCE_SCATTER", "shared", {}, {4, 5}},
      {"REDUCE_SCATTER", "direct", {}, {4, 5}},
  };
  return all;
}

class Algorithms : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Algorithm& algorithm() const { return algorithms()[GetParam()]; }
  std::string variable() const { return std::string("DUNLIN_COLL_") + algorithm().setting; }
  void SetUp() override {
    setenv(variable().c_str(), algorithm().word, 1);
    Variable::read_all_again();
  }
  void TearDown() override {
    unsetenv(variable().c_str());
    Variable::read_all_again();
  }
  void run(World& world, Case& one) {
    std::vector<Request*> requests(std::size_t(world.size()), nullptr);
    one.fill(0);
    for (int rank = 0; rank < world.size(); ++rank)
      ASSERT_EQ(one.start(rank, Mode::nonblocking, &requests[std::size_t(rank)]), Err::ok);
    world.finish(requests);
    if (HasFatalFailure()) return;
    one.check();
    for (Request* each : requests) give_back(each);
  }
};

TEST_P(Algorithms, IsRightForEveryNumberOfRanks) {
  for (int size = 1; size <= 17 && !HasFailure(); ++size) {
    // Memory can be mapped; on one node, but for algorithms that want several.
    const int nodes = std::string_view(algorithm().word) == "hierarchical" ? 3 : 1;
    Nodes places{{}, {.maps = true}};
    for (int rank = 0; rank < size; ++rank)
      places.of_rank.push_back(size % 2 ? rank % nodes : rank * nodes / size);
    World world(places, weather_of(std::uint64_t(size) + 1000));
    Comms comms;
    for (int rank = 0; rank < size; ++rank) comms.emplace_back(&world.comm(rank));
    for (std::uint64_t shape = 0; shape < 6; ++shape) {
      SCOPED_TRACE(std::to_string(size) + " ranks, shape " + std::to_string(shape));
      for (const int kind : algorithm().movements)
        run(world, *make_movement(kind, comms, shape * 100 + std::uint64_t(size)));
      for (const int kind : algorithm().reductions)
        run(world, *make_reduction(kind, comms, shape * 100 + std::uint64_t(size)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms, ::testing::Range(std::size_t{0}, algorithms().size()),
                         [](const auto& param) {
                           return std::string(algorithms()[param.param].setting) + "_" +
                                  algorithms()[param.param].word;
                         });

}  // namespace
}  // namespace dunlin::test
