// Collectives of inter-communicators among simulated ranks, and what becomes of a collective that fails.
#include "test/simulate/collective_case.hpp"

namespace dunlin::test {
namespace {

/// Two groups of at least one rank each, in all splits of up to 12 ranks.
template <class Body>
void on_all_splits(Body body) {
  for (int size = 2; size <= 12; ++size)
    for (int split = 1; split < size && !::testing::Test::HasFailure(); split += 1 + size / 5) {
      SCOPED_TRACE(std::to_string(split) + " and " + std::to_string(size - split) + " ranks");
      World world(size, weather_of(std::uint64_t(size * 100 + split)));
      body(world, world.inter(split, 1 << 20), split);
    }
}

void finish(World& world, std::vector<Request*>& requests) {
  world.finish(requests);
  if (::testing::Test::HasFatalFailure()) return;
  for (Request* each : requests) {
    EXPECT_EQ(each->completion.error, Err::ok);
    give_back(each);
  }
  requests.assign(requests.size(), nullptr);
}

const Datatype& type() { return predefined(MPI_INT64_T); }
std::int64_t value(int rank, std::int64_t i) { return rank * 1000 + i; }

TEST(SimulatedInterCommunicator, EverybodyGetsTheOtherGroupsData) {
  on_all_splits([](World& world, const Comms& comms, int split) {
    constexpr std::int64_t kCount = 5;
    const int size = world.size();
    std::vector<Request*> requests(std::size_t(size), nullptr);
    std::vector<std::vector<std::int64_t>> out, in;
    for (int rank = 0; rank < size; ++rank) {
      std::vector<std::int64_t>& mine = out.emplace_back();
      for (std::int64_t i = 0; i < kCount; ++i) mine.push_back(value(rank, i));
      in.emplace_back(std::size_t(kCount * size), -1);
    }
    for (int rank = 0; rank < size; ++rank) {
      const auto at = std::size_t(rank);
      ASSERT_EQ(coll::iallgather(out[at].data(), kCount, &type(), in[at].data(), kCount, type(), *comms[at],
                                 &requests[at]),
                Err::ok);
    }
    finish(world, requests);
    for (int rank = 0; rank < size; ++rank) {
      const int other = rank < split ? split : 0, others = rank < split ? size - split : split;
      for (std::int64_t i = 0; i < kCount * others; ++i)
        ASSERT_EQ(in[std::size_t(rank)][std::size_t(i)], value(other + int(i / kCount), i % kCount));
    }
    for (int rank = 0; rank < size; ++rank) {
      const auto at = std::size_t(rank);
      ASSERT_EQ(coll::iallreduce(out[at].data(), in[at].data(), kCount, type(), *from_handle<Op>(MPI_SUM),
                                 *comms[at], &requests[at]),
                Err::ok);
    }
    finish(world, requests);
    for (int rank = 0; rank < size; ++rank)
      for (std::int64_t i = 0; i < kCount; ++i) {
        std::int64_t sum = 0;
        for (int other = 0; other < size; ++other)
          if ((other < split) != (rank < split)) sum += value(other, i);
        ASSERT_EQ(in[std::size_t(rank)][std::size_t(i)], sum);
      }
  });
}

TEST(SimulatedInterCommunicator, RootsTalkToTheOtherGroup) {
  on_all_splits([](World& world, const Comms& comms, int split) {
    const int size = world.size(), root = size - 1;  // of the high group
    std::vector<Request*> requests(std::size_t(size), nullptr);
    std::vector<std::int64_t> word(std::size_t(size), -1), all(std::size_t(size), -1);
    word[std::size_t(root)] = 42;
    const auto named = [&](int rank) {
      return rank == root ? MPI_ROOT : rank >= split ? MPI_PROC_NULL : root - split;
    };
    for (int rank = 0; rank < size; ++rank) {
      const auto at = std::size_t(rank);
      ASSERT_EQ(coll::ibcast(&word[at], 1, type(), named(rank), *comms[at], &requests[at]), Err::ok);
    }
    finish(world, requests);
    for (int rank = 0; rank < root; ++rank) EXPECT_EQ(word[std::size_t(rank)], rank < split ? 42 : -1);
    for (int rank = 0; rank < size; ++rank) {
      const auto at = std::size_t(rank);
      word[at] = rank;
      ASSERT_EQ(coll::igather(&word[at], 1, &type(), all.data(), 1, &type(), named(rank), *comms[at],
                              &requests[at]),
                Err::ok);
    }
    finish(world, requests);
    for (int rank = 0; rank < split; ++rank) EXPECT_EQ(all[std::size_t(rank)], rank);
    std::int64_t sum = -1;
    for (int rank = 0; rank < size; ++rank) {
      const auto at = std::size_t(rank);
      ASSERT_EQ(coll::ireduce(&word[at], &sum, 1, type(), *from_handle<Op>(MPI_SUM), named(rank), *comms[at],
                              &requests[at]),
                Err::ok);
    }
    finish(world, requests);
    EXPECT_EQ(sum, split * (split - 1) / 2);
  });
}

TEST(SimulatedInterCommunicator, NobodyLeavesABarrierBeforeTheOtherGroupHasCome) {
  on_all_splits([](World& world, const Comms& comms, int split) {
    const int size = world.size(), late = size - 1;
    std::vector<Request*> requests(std::size_t(size), nullptr);
    for (int rank = 0; rank < late; ++rank)
      ASSERT_EQ(coll::ibarrier(*comms[std::size_t(rank)], &requests[std::size_t(rank)]), Err::ok);
    world.settle();
    for (int rank = 0; rank < split; ++rank) EXPECT_FALSE(requests[std::size_t(rank)]->is_complete);
    ASSERT_EQ(coll::ibarrier(*comms[std::size_t(late)], &requests[std::size_t(late)]), Err::ok);
    finish(world, requests);
  });
}

TEST(SimulatedFailures, ATruncatedBroadcastEndsWithItsError) {
  for (const std::int64_t values : {4, 5000}) {
    World world(2, weather_of(7));
    std::vector<std::int64_t> data(std::size_t(values), 1), room(std::size_t(values), -1);
    std::vector<Request*> requests(2, nullptr);
    ASSERT_EQ(coll::ibcast(data.data(), values, type(), 0, world.comm(0), &requests[0]), Err::ok);
    ASSERT_EQ(coll::ibcast(room.data(), values / 2, type(), 0, world.comm(1), &requests[1]), Err::ok);
    world.finish(requests);
    EXPECT_EQ(requests[0]->completion.error, Err::ok);
    EXPECT_EQ(requests[1]->completion.error, Err::truncate);
    for (Request* each : requests) give_back(each);
  }
}

TEST(SimulatedFailures, ACollectiveWithARankThatIsGoneEndsWithAnError) {
  World world(3, weather_of(11));
  world.network().cut(0, 1);
  std::vector<std::int64_t> out(3, 1), in(3, -1);
  Request* request = nullptr;
  ASSERT_EQ(coll::ialltoall(out.data(), 1, &type(), in.data(), 1, type(), world.comm(0), &request), Err::ok);
  Request* const requests[] = {request};
  world.finish(requests);
  EXPECT_EQ(request->completion.error, Err::proc_aborted);
  give_back(request);
}

}  // namespace
}  // namespace dunlin::test
