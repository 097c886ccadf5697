// Every collective on 1 to 33 ranks, in random shapes, types, weathers, modes and algorithms, on random nodes
// (collective_worlds.hpp); seeds are printed and replay exactly.
//
// DUNLIN_TEST_SEED=<n> runs one seed of the random ones; DUNLIN_TEST_FIRST_SEED and DUNLIN_TEST_SEEDS name
// others than the first 700.
#include <cstdio>
#include <cstdlib>

#include "base/variable.hpp"
#include "coll/shared_work.hpp"
#include "copy/copy.hpp"
#include "os/cpu.hpp"
#include "test/simulate/collective_worlds.hpp"
#include "test/simulate/fibers.hpp"
#include "test/simulate/settings.hpp"
#include "test/simulate/told_seed.hpp"

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
      {"DUNLIN_COLL_BARRIER", {"auto", "auto", "dissemination", "hierarchical", "shared"}},
      {"DUNLIN_COLL_BCAST",
       {"auto", "auto", "binomial", "scatter_allgather", "hierarchical", "shared", "direct"}},
      {"DUNLIN_COLL_GATHER", {"auto", "auto", "binomial", "linear", "hierarchical", "shared", "direct"}},
      {"DUNLIN_COLL_SCATTER", {"auto", "auto", "binomial", "linear", "hierarchical", "shared", "direct"}},
      {"DUNLIN_COLL_ALLGATHER", {"auto", "auto", "bruck", "ring", "hierarchical", "shared", "direct"}},
      {"DUNLIN_COLL_ALLTOALL", {"auto", "bruck", "pairwise", "hierarchical", "shared", "direct"}},
      {"DUNLIN_COLL_ALLTOALL_LONG", {"0", "4096", "100000"}},
      {"DUNLIN_COLL_REDUCE", {"auto", "auto", "binomial", "hierarchical", "shared", "direct"}},
      {"DUNLIN_COLL_ALLREDUCE",
       {"auto", "auto", "recursive_doubling", "rabenseifner", "ring", "hierarchical", "shared", "direct"}},
      {"DUNLIN_COLL_SCAN", {"auto", "auto", "recursive_doubling", "hierarchical", "shared", "direct"}},
      {"DUNLIN_COLL_LEADER_BYTES", {"16", "200", "16384"}},
      {"DUNLIN_COLL_SHARED_RANKS", {"32", "32", "5", "2", "0"}},
      {"DUNLIN_COLL_WHOLE_BYTES", {"0", "1", "100"}},
      {"DUNLIN_COLL_REDUCE_SCATTER", {"auto", "by_reduce", "pairwise", "hierarchical", "shared", "direct"}},
  };
};

enum class Placement { in_turn, in_blocks, anywhere };

/// Ranks on so many nodes, whose memory can be mapped.
std::unique_ptr<World> on_nodes(int size, int nodes, const transport::sim::Weather& weather,
                                unsigned decline_percent = 0, Placement placement = Placement::in_turn) {
  Nodes places;
  nodes = std::min(nodes, size);
  std::mt19937_64 dice(weather.seed);
  for (int rank = 0; rank < size; ++rank)
    places.of_rank.push_back(placement == Placement::in_turn     ? rank % nodes
                             : placement == Placement::in_blocks ? rank * nodes / size
                                                                 : int(dice() % std::uint64_t(nodes)));
  places.memory.maps = true;
  places.memory.decline = decline_percent;
  constexpr os::NearRanks kNear[] = {{}, {4, 2}, {0, 3}, {6, 6}};
  places.near = kNear[dice() % std::size(kNear)];
  return std::make_unique<World>(places, weather);
}

/// From now on the rank finds that of the others which is drawn for each.
template <class Drawn>
void set_distances(Comm& comm, Drawn is_far) {
  const int members = comm.region ? comm.region->size() : 0;
  const int me = comm.hierarchy ? comm.hierarchy->place_of(comm.rank) : comm.rank;
  for (int member = 0; member < members; ++member)
    if (member != me) comm.region->distance(member).set(is_far());
}
/// Ranks find different things, and find another one later; half of them that all are far.
void draw_distances(Comm& comm, std::mt19937_64& dice) {
  const bool are_all_far = dice() % 2;
  set_distances(comm, [&] { return are_all_far || dice() % 2; });
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
  if (mode == Mode::persistent) {  // making one waits for the others
    Fibers fibers(world, [&](int rank) {
      for (std::size_t i = 0; i < cases.size(); ++i)
        EXPECT_EQ(cases[i]->start(rank, mode, &requests[std::size_t(rank) * cases.size() + i]), Err::ok);
    });
    fibers.run();
  }
  for (std::size_t started = mode == Mode::persistent ? requests.size() : 0; started < requests.size();) {
    const std::size_t rank = dice() % ranks;
    if (next[rank] == cases.size()) continue;
    Request*& request = requests[rank * cases.size() + next[rank]];
    draw_distances(world.comm(int(rank)), dice);
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
      for (const std::size_t i : order) {
        draw_distances(world.comm(int(i / cases.size())), dice);
        ASSERT_EQ(requests[i]->start(), Err::ok);
      }
    }
    world.finish(requests);
    if (::testing::Test::HasFatalFailure()) return;
    for (Request* each : requests) {
      ASSERT_EQ(each->completion.error, Err::ok) << error_detail(each->completion.error);
      if (!each->is_static) each->is_active = false;  // as a wait of the program leaves it
    }
    for (auto& each : cases) {
      SCOPED_TRACE(each->name());
      each->check();
    }
  }
  for (Request* each : requests) give_back(each);
}

/// One after the other, by blocking calls.
void run_blocking(World& world, std::vector<std::unique_ptr<Case>>& cases, std::mt19937_64& dice) {
  for (auto& each : cases) each->fill(0);
  Fibers fibers(world, [&](int rank) {
    for (auto& each : cases) {
      draw_distances(world.comm(rank), dice);
      EXPECT_EQ(each->start(rank, Mode::blocking, nullptr), Err::ok) << each->name();
    }
  });
  fibers.run();
  for (auto& each : cases) {
    SCOPED_TRACE(each->name());
    if (!::testing::Test::HasFailure()) each->check();
  }
}

std::vector<std::unique_ptr<Case>> draw_cases(std::uint64_t number, const Comms& comms,
                                              const Neighbors* neighbors, std::mt19937_64& dice) {
  std::vector<std::unique_ptr<Case>> cases;
  while (cases.size() < number)
    if (neighbors && dice() % 2)
      cases.push_back(make_neighbor(int(dice() % kNeighborKinds), comms, *neighbors, dice()));
    else
      cases.push_back(make_any(int(dice() % (kMovementKinds + kReductionKinds)), comms, dice()));
  return cases;
}

void run_seed(std::uint64_t seed, int size) {
  TellsSeed teller;
  teller.seed = seed;
  std::mt19937_64 dice(seed);
  const ForcedAlgorithms forced(dice);
  const Settings limits = draw_limits(dice);
  std::string text = limits.describe();
  const std::unique_ptr<World> made = draw_world(size, weather_of(seed), dice, text);
  SCOPED_TRACE("DUNLIN_TEST_SEED=" + std::to_string(seed) + ", " + std::to_string(size) + " ranks" + text);
  World& world = *made;
  const bool has_topology = dice() % 5 == 0;
  const Topologies on = has_topology ? draw_topology(world, dice) : Topologies{world_comms(world), {}};
  if (::testing::Test::HasFailure()) return;
  auto cases = draw_cases(1 + seed % 4, on.comms, has_topology ? &on.neighbors : nullptr, dice);
  const ProgramBuffers buffers(world, cases);
  const auto mode = Mode(dice() % 3);
  if (mode == Mode::blocking)
    run_blocking(world, cases, dice);
  else
    run_together(world, cases, mode, dice);
  world.settle();
  EXPECT_EQ(world.network().under_way(), 0u);
}

TEST(SimulatedCollectives, RandomShapesWeathersAndAlgorithms) {
  if (const char* seed = std::getenv("DUNLIN_TEST_SEED"))
    return run_seed(std::strtoull(seed, nullptr, 10), 1 + std::atoi(seed) % 33);
  const auto number = [](const char* name, std::uint64_t preset) {
    const char* const text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : preset;
  };
  const std::uint64_t first = number("DUNLIN_TEST_FIRST_SEED", 1), seeds = number("DUNLIN_TEST_SEEDS", 700);
  std::uint64_t seed = first;
  for (; seed < first + seeds && !HasFailure(); ++seed) run_seed(seed, int(1 + seed % 33));
  std::printf("%llu seeds from %llu on\n", static_cast<unsigned long long>(seed - first),
              static_cast<unsigned long long>(first));
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

// From 1 to 4 nodes of 1 to 8 ranks, in blocks and in turn, with and without enough data for several leaders.
TEST(SimulatedCollectives, EveryKindOnEmulatedNodes) {
  for (const char* const leader_bytes : {"16384", "64"}) {
    setenv("DUNLIN_COLL_LEADER_BYTES", leader_bytes, 1);
    Variable::read_all_again();
    for (int nodes = 1; nodes <= 4; ++nodes)
      for (int size = nodes; size <= 8 * nodes && !HasFailure(); size += 1 + size / 5) {
        SCOPED_TRACE(std::to_string(size) + " ranks on " + std::to_string(nodes) + " nodes");
        const auto made = on_nodes(size, nodes, weather_of(std::uint64_t(size)), 0,
                                   size % 2 ? Placement::in_turn : Placement::in_blocks);
        const Comms comms = world_comms(*made);
        std::mt19937_64 dice(std::uint64_t(size) * 31);
        for (int kind = 0; kind < kMovementKinds + kReductionKinds && !HasFailure(); ++kind) {
          std::vector<std::unique_ptr<Case>> two;
          two.push_back(make_any(kind, comms, dice()));
          two.push_back(make_any(kind, comms, dice()));
          run_together(*made, two, Mode::nonblocking, dice);
        }
      }
  }
  unsetenv("DUNLIN_COLL_LEADER_BYTES");
  Variable::read_all_again();
}

// Ranks free persistent operations in different orders; there is always a track for the next ones, so no
// message is sent.
TEST(SimulatedCollectives, PersistentOperationsGiveTheirTracksBack) {
  constexpr int kRanks = 3, kAtOnce = 3, kRounds = 12;
  const auto made = on_nodes(kRanks, 1, {});
  World& world = *made;
  const Datatype& type = *from_handle<Datatype>(MPI_INT32_T);
  std::int32_t sent[kRanks], received[kRanks][kAtOnce];
  std::uint64_t moves = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Request*> requests(kRanks * kAtOnce, nullptr);
    Fibers fibers(world, [&](int rank) {
      sent[rank] = rank + round;
      for (int i = 0; i < kAtOnce; ++i)
        EXPECT_EQ(coll::allreduce_init(&sent[rank], &received[rank][i], 1, type, *from_handle<Op>(MPI_SUM),
                                       world.comm(rank), nullptr, &requests[std::size_t(rank * kAtOnce + i)]),
                  Err::ok);
    });
    fibers.run();
    if (round == 1) moves = world.moves();
    for (Request* each : requests) ASSERT_EQ(each->start(), Err::ok);
    world.finish(requests);
    for (const auto& results : received)
      for (const std::int32_t sum : results) EXPECT_EQ(sum, 3 * round + 3);
    for (int rank = 0; rank < kRanks; ++rank)
      for (int i = 0; i < kAtOnce; ++i)
        requests[std::size_t(rank * kAtOnce + (i + rank + round) % kAtOnce)]->let_go();
  }
  EXPECT_EQ(world.moves(), moves) << "messages were sent";
}

/// What one collective of two ranks moves around the caches, and takes over; the first rank begins.
template <class Begin>
coll::Traffic traffic_of_two(World& world, std::vector<std::uint8_t> (&sent)[2],
                             std::vector<std::uint8_t> (&received)[2], Begin begin) {
  const coll::Traffic before = coll::traffic;
  std::vector<Request*> requests(2, nullptr);
  for (unsigned rank = 0; rank < 2; ++rank)
    EXPECT_EQ(begin(sent[rank].data(), received[rank].data(), world.comm(int(rank)), &requests[rank]),
              Err::ok);
  world.finish(requests);
  for (Request* each : requests) give_back(each);
  coll::Traffic moved = coll::traffic;
  moved.around -= before.around;
  moved.taken -= before.taken;
  return moved;
}

// A member to whose result nobody else has stored has its lines.  An allgather reads its own block, too, to
// copy it to where others read it, so twice the bytes of a block have to fit its cache.
TEST(SimulatedCollectives, OnlyWhatOthersHaveInTheirCachesIsTakenOver) {
  const std::size_t most = os::cache_bytes(2) / 2;
  if (!copy::takes_over(most)) GTEST_SKIP() << "readers take nothing over here";
  const auto made = on_nodes(2, 1, {});
  World& world = *made;
  for (int rank = 0; rank < 2; ++rank) set_distances(world.comm(rank), [] { return false; });
  const Datatype& byte = *from_handle<Datatype>(MPI_UINT8_T);
  std::vector<std::uint8_t> sent[2], received[2];
  for (int rank = 0; rank < 2; ++rank) sent[rank].assign(2 * most, 1), received[rank].assign(2 * most, 0);
  const auto taken = [&](auto begin) { return traffic_of_two(world, sent, received, begin).taken; };
  const auto allgather = [&](std::size_t bytes) {
    const auto count = std::int64_t(bytes);
    return taken([&](auto* from, auto* to, Comm& comm, Request** request) {
      return coll::iallgather(from, count, &byte, to, count, byte, comm, request);
    });
  };
  const auto count = std::int64_t(most);
  // Who came last has done all: the other's block, which it has read, and the other one's result.
  EXPECT_EQ(taken([&](auto* from, auto* to, Comm& comm, Request** request) {
              return coll::ialltoall(from, count, &byte, to, count, byte, comm, request);
            }),
            2 * most);
  // And both parts of an allreduce: the other's operand, and the other one's result.
  EXPECT_EQ(taken([&](auto* from, auto* to, Comm& comm, Request** request) {
              return coll::iallreduce(from, to, count, byte, *from_handle<Op>(MPI_SUM), comm, request);
            }),
            2 * most);
  EXPECT_EQ(allgather(most / 2), most);
  EXPECT_EQ(allgather(most), 0u);
}

// What a member stores for far ones goes around the caches, and nobody takes it over.  What it reads of them
// is taken over, also where it fits only the last cache.
TEST(SimulatedCollectives, FarRanksStoreForEachOtherAroundTheCaches) {
  const std::size_t bytes = 2 * os::cache_bytes(2);
  const auto count = std::int64_t(bytes);
  const Datatype& byte = *from_handle<Datatype>(MPI_UINT8_T);
  const Op& sum = *from_handle<Op>(MPI_SUM);
  for (const bool is_far : {false, true}) {
    const auto made = on_nodes(2, 1, {});
    World& world = *made;
    for (int rank = 0; rank < 2; ++rank) set_distances(world.comm(rank), [&] { return is_far; });
    std::vector<std::uint8_t> sent[2], received[2];
    for (unsigned rank = 0; rank < 2; ++rank)
      sent[rank].assign(2 * bytes, std::uint8_t(rank + 1)), received[rank].assign(2 * bytes, 0);
    const auto expect = [&](std::size_t around, std::size_t taken, auto begin) {
      const coll::Traffic moved = traffic_of_two(world, sent, received, begin);
      EXPECT_EQ(moved.around, is_far ? around : 0);
      EXPECT_EQ(moved.taken, is_far && copy::takes_over(bytes, true) ? taken : 0);
    };
    // Who came last has done all: its own block is stored for the other, and the other's is read.
    expect(bytes, bytes, [&](auto* from, auto* to, Comm& comm, Request** request) {
      return coll::ialltoall(from, count, &byte, to, count, byte, comm, request);
    });
    expect(bytes, bytes, [&](auto* from, auto* to, Comm& comm, Request** request) {
      return coll::iallgather(from, count, &byte, to, count, byte, comm, request);
    });
    EXPECT_EQ(received[0][bytes], 2);
    EXPECT_EQ(received[1][0], 1);
    expect(bytes, bytes, [&](auto* from, auto* to, Comm& comm, Request** request) {
      return coll::iallreduce(from, to, count, byte, sum, comm, request);
    });
    EXPECT_EQ(received[0][bytes - 1], 3);
    EXPECT_EQ(received[1][bytes - 1], 3);
    // Rank 1 comes last, and the root is the other.
    expect(bytes, bytes, [&](auto* from, auto* to, Comm& comm, Request** request) {
      return coll::ireduce(from, to, count, byte, sum, 0, comm, request);
    });
    EXPECT_EQ(received[0][0], 3);
  }
}

// What all members read and store decides, not the length of one block.
TEST(SimulatedCollectives, StoreAroundTheCacheWhatDoesNotFitItAltogether) {
  constexpr int kSize = 4;
  constexpr std::int64_t kBytes = 100000;
  const Settings settings({{"COPY_STREAM_BYTES_MIN", 600000}});
  const auto made = on_nodes(kSize, 1, {});
  World& world = *made;
  for (int rank = 0; rank < kSize; ++rank) set_distances(world.comm(rank), [] { return false; });
  const Datatype& byte = *from_handle<Datatype>(MPI_UINT8_T);
  std::vector<std::vector<std::uint8_t>> sent, received;
  for (int rank = 0; rank < kSize; ++rank) {
    sent.emplace_back(kSize * kBytes, std::uint8_t(rank + 1));
    received.emplace_back(kSize * kBytes, 0);
  }
  const auto around = [&](auto begin) {
    const std::uint64_t before = coll::traffic.around;
    std::vector<Request*> requests(kSize, nullptr);
    for (unsigned rank = 0; rank < kSize; ++rank)
      EXPECT_EQ(begin(sent[rank].data(), received[rank].data(), world.comm(int(rank)), &requests[rank]),
                Err::ok);
    world.finish(requests);
    for (Request* each : requests) give_back(each);
    return coll::traffic.around - before;
  };
  // 4 blocks are read and 12 stored.
  EXPECT_EQ(around([&](const void* mine, void* all, Comm& comm, Request** request) {
              return coll::iallgather(mine, kBytes, &byte, all, kBytes, byte, comm, request);
            }),
            12u * kBytes);
  for (int rank = 0; rank < kSize; ++rank)
    EXPECT_EQ(received[0][std::size_t((rank + 1) * kBytes - 1)], rank + 1);
  // 4 are read and 4 stored, one of these by the kernel that combines.
  EXPECT_EQ(around([&](const void* mine, void* sum, Comm& comm, Request** request) {
              return coll::iallreduce(mine, sum, kBytes, byte, *from_handle<Op>(MPI_SUM), comm, request);
            }),
            3u * kBytes);
  for (const auto& sum : received) EXPECT_EQ(sum[kBytes - 1], 1 + 2 + 3 + 4);
  // 1 is read and 3 are stored: they fit.
  EXPECT_EQ(around([&](const void*, void* block, Comm& comm, Request** request) {
              return coll::ibcast(block, kBytes, byte, 0, comm, request);
            }),
            0u);
}

// Where domains are of equal size, nobody sends anything to a rank at another place.
TEST(SimulatedCollectives, RanksOfAGridSendFewMessages) {
  constexpr int kNodes = 4, kSize = 16;
  constexpr std::int64_t kBytes = 100;
  for (const Placement placement : {Placement::in_blocks, Placement::in_turn}) {
    const auto made = on_nodes(kSize, kNodes, {}, 0, placement);
    World& world = *made;
    const Datatype& byte = *from_handle<Datatype>(MPI_UINT8_T);
    std::vector<std::vector<std::uint8_t>> sent, received;
    for (int rank = 0; rank < kSize; ++rank) {
      sent.emplace_back(kSize * kBytes, std::uint8_t(rank + 1));
      received.emplace_back(kSize * kBytes, std::uint8_t(0));
    }
    for (const bool is_reduced : {false, true}) {
      const std::uint64_t before = world.moves();
      std::vector<Request*> requests(kSize, nullptr);
      for (int rank = 0; rank < kSize; ++rank) {
        const auto i = std::size_t(rank);
        if (is_reduced)
          ASSERT_EQ(coll::ireduce_scatter_block(sent[i].data(), received[i].data(), kBytes, byte,
                                                *from_handle<Op>(MPI_MAX), world.comm(rank), &requests[i]),
                    Err::ok);
        else
          ASSERT_EQ(coll::ialltoall(sent[i].data(), kBytes, &byte, received[i].data(), kBytes, byte,
                                    world.comm(rank), &requests[i]),
                    Err::ok);
      }
      world.finish(requests);
      for (Request* each : requests) give_back(each);
      for (const auto& each : received) {
        EXPECT_EQ(each[0], is_reduced ? kSize : 1);
      }
      EXPECT_LE(world.moves() - before, std::uint64_t(kSize * (kNodes - 1)));
    }
  }
}

// On one node ranks share CPUs, on the other they do not: all must choose the same algorithms.
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
