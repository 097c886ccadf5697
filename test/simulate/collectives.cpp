// Every collective on 1 to 33 ranks, in random shapes, weathers, modes and algorithms; seeds are printed and
// replay exactly.
//
// DUNLIN_TEST_SEED=<n> runs one seed of every test here.
#include <cstdlib>

#include "base/variable.hpp"
#include "test/simulate/collective_case.hpp"
#include "test/simulate/fibers.hpp"

namespace dunlin::test {
namespace {

/// Forces algorithms by their settings for the length of a run.
class ForcedAlgorithms {
 public:
  explicit ForcedAlgorithms(std::mt19937_64& dice) {
    for (const auto& [name, words] : kChoices) {
      const std::string_view word = words[dice() % words.size()];
      setenv(name, std::string(word).c_str(), 1);
    }
    Variable::read_all_again();
  }
  ~ForcedAlgorithms() {
    for (const auto& [name, words] : kChoices) unsetenv(name);
    Variable::read_all_again();
  }

 private:
  struct Choice {
    const char* name;
    std::vector<std::string_view> words;
  };
  static inline const std::vector<Choice> kChoices = {
      {"DUNLIN_COLL_BARRIER", {"auto", "dissemination", "linear", "shared"}},
      {"DUNLIN_COLL_BCAST", {"auto", "binomial", "scatter_allgather", "linear", "shared", "direct"}},
      {"DUNLIN_COLL_GATHER", {"auto", "binomial", "linear", "shared", "direct"}},
      {"DUNLIN_COLL_SCATTER", {"auto", "binomial", "linear", "shared", "direct"}},
      {"DUNLIN_COLL_ALLGATHER",
       {"auto", "recursive_doubling", "bruck", "ring", "linear", "shared", "direct"}},
      {"DUNLIN_COLL_ALLTOALL", {"auto", "bruck", "pairwise", "shared", "direct"}},
      {"DUNLIN_COLL_REDUCE", {"auto", "binomial", "linear", "shared", "direct"}},
      {"DUNLIN_COLL_ALLREDUCE",
       {"auto", "recursive_doubling", "rabenseifner", "ring", "linear", "shared", "direct"}},
      {"DUNLIN_COLL_SCAN", {"auto", "recursive_doubling", "shared"}},
      {"DUNLIN_COLL_REDUCE_SCATTER", {"auto", "by_reduce", "pairwise", "shared", "direct"}},
  };
};

/// Ranks in turn on so many nodes, whose memory can be mapped.
std::unique_ptr<World> on_nodes(int size, int nodes, const transport::sim::Weather& weather,
                                unsigned decline_percent = 0) {
  Nodes places;
  for (int rank = 0; rank < size; ++rank) places.of_rank.push_back(rank % nodes);
  places.memory.maps = true;
  places.memory.decline = decline_percent;
  return std::make_unique<World>(places, weather);
}

Comms world_comms(World& world) {
  Comms comms;
  for (int rank = 0; rank < world.size(); ++rank) comms.emplace_back(&world.comm(rank));
  return comms;
}

std::unique_ptr<Case> make_any(int kind, const Comms& comms, std::uint64_t seed) {
  return kind < kMovementKinds ? make_movement(kind, comms, seed)
                               : make_reduction(kind - kMovementKinds, comms, seed);
}

/// Several operations at once on one communicator: every rank starts them in the same order, as the standard
/// demands, but ranks get on at different speed.
void run_together(World& world, std::vector<std::unique_ptr<Case>>& cases, Mode mode, std::mt19937_64& dice) {
  const auto ranks = std::size_t(world.size());
  std::vector<Request*> requests(ranks * cases.size(), nullptr);
  std::vector<std::size_t> next(ranks, 0);
  for (auto& each : cases) each->fill(0);
  for (std::size_t started = 0; started < requests.size();) {
    const std::size_t rank = dice() % ranks;
    if (next[rank] == cases.size()) continue;
    Request*& request = requests[rank * cases.size() + next[rank]];
    ASSERT_EQ(cases[next[rank]]->start(int(rank), mode, &request), Err::ok);
    ++next[rank];
    ++started;
    world.engine(int(dice() % ranks)).poll();
  }
  for (int round = 0; round < (mode == Mode::persistent ? 2 : 1); ++round) {
    for (auto& each : cases)
      if (round > 0) each->fill(round);
    if (mode == Mode::persistent) {
      // Persistent operations may be started in any order.
      std::vector<std::size_t> order(requests.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), dice);
      for (const std::size_t i : order) ASSERT_EQ(requests[i]->start(), Err::ok);
    }
    world.finish(requests);
    if (::testing::Test::HasFatalFailure()) return;
    for (Request* each : requests)
      ASSERT_EQ(each->completion.error, Err::ok) << error_detail(each->completion.error);
    for (auto& each : cases) {
      SCOPED_TRACE(each->name());
      each->check();
    }
  }
  for (Request* each : requests) give_back(each);
}

/// One after the other, by blocking calls.
void run_blocking(World& world, std::vector<std::unique_ptr<Case>>& cases) {
  for (auto& each : cases) each->fill(0);
  Fibers fibers(world, [&](int rank) {
    for (auto& each : cases) EXPECT_EQ(each->start(rank, Mode::blocking, nullptr), Err::ok) << each->name();
  });
  fibers.run();
  for (auto& each : cases) {
    SCOPED_TRACE(each->name());
    if (!::testing::Test::HasFailure()) each->check();
  }
}

void run_seed(std::uint64_t seed, int size) {
  std::mt19937_64 dice(seed);
  SCOPED_TRACE("DUNLIN_TEST_SEED=" + std::to_string(seed) + ", " + std::to_string(size) + " ranks");
  const ForcedAlgorithms forced(dice);
  const std::unique_ptr<World> made =
      dice() % 2 ? std::make_unique<World>(size, weather_of(seed))
                 : on_nodes(size, 1 + int(dice() % 4) / 3, weather_of(seed), dice() % 4 ? 0 : 5);
  World& world = *made;
  const Comms comms = world_comms(world);
  std::vector<std::unique_ptr<Case>> cases;
  for (std::uint64_t i = 0; i < 1 + seed % 4; ++i)
    cases.push_back(make_any(int(dice() % (kMovementKinds + kReductionKinds)), comms, dice()));
  const auto mode = Mode(dice() % 3);
  if (mode == Mode::blocking)
    run_blocking(world, cases);
  else
    run_together(world, cases, mode, dice);
  world.settle();
  EXPECT_EQ(world.network().under_way(), 0u);
}

TEST(SimulatedCollectives, RandomShapesWeathersAndAlgorithms) {
  if (const char* seed = std::getenv("DUNLIN_TEST_SEED"))
    return run_seed(std::strtoull(seed, nullptr, 10), 1 + std::atoi(seed) % 33);
  for (std::uint64_t seed = 1; seed <= 700 && !HasFailure(); ++seed) run_seed(seed, int(1 + seed % 33));
}

TEST(SimulatedCollectives, EveryKindOnEveryNumberOfRanks) {
  for (int size = 1; size <= 33 && !HasFailure(); ++size) {
    SCOPED_TRACE(std::to_string(size) + " ranks");
    const auto made = on_nodes(size, 1, weather_of(std::uint64_t(size)));
    World& world = *made;
    const Comms comms = world_comms(world);
    std::mt19937_64 dice(std::uint64_t(size) * 77);
    for (int kind = 0; kind < kMovementKinds + kReductionKinds && !HasFailure(); ++kind) {
      std::vector<std::unique_ptr<Case>> one;
      one.push_back(make_any(kind, comms, dice()));
      run_together(world, one, Mode::nonblocking, dice);
    }
  }
}

// On one node ranks share cores, on the other they do not: all must choose the same algorithms.
TEST(SimulatedCollectives, RanksOfUnlikeNodesUnderstandEachOther) {
  for (int size = 2; size <= 9 && !HasFailure(); ++size) {
    SCOPED_TRACE(std::to_string(size) + " ranks");
    World world(size, weather_of(std::uint64_t(size)));
    for (int rank = 0; rank < size / 2; ++rank) world.engine(rank).set_oversubscribed(true);
    const Comms comms = world_comms(world);
    std::mt19937_64 dice(std::uint64_t(size) * 5);
    for (int kind = 0; kind < kMovementKinds + kReductionKinds && !HasFailure(); ++kind) {
      std::vector<std::unique_ptr<Case>> one;
      one.push_back(make_any(kind, comms, dice()));
      run_together(world, one, Mode::nonblocking, dice);
    }
  }
}

TEST(SimulatedCollectives, NobodyLeavesABarrierBeforeAllHaveCome) {
  for (int size = 1; size <= 33; ++size) {
    const auto made = on_nodes(size, size % 2 + 1, weather_of(std::uint64_t(size)));
    World& world = *made;
    const Comms comms = world_comms(world);
    std::vector<Request*> requests(std::size_t(size), nullptr);
    const int late = size / 2;
    for (int rank = 0; rank < size; ++rank) {
      if (rank == late) continue;
      ASSERT_EQ(coll::ibarrier(*comms[std::size_t(rank)], &requests[std::size_t(rank)]), Err::ok);
    }
    world.settle();
    for (int rank = 0; rank < size; ++rank) {
      if (rank == late) continue;
      EXPECT_FALSE(requests[std::size_t(rank)]->is_complete) << "rank " << rank << " of " << size;
    }
    ASSERT_EQ(coll::ibarrier(*comms[std::size_t(late)], &requests[std::size_t(late)]), Err::ok);
    world.finish(requests);
    for (Request* each : requests) give_back(each);
  }
}

}  // namespace
}  // namespace dunlin::test
