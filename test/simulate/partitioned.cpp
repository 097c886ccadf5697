// Partitioned communication among simulated ranks: random partitions and layouts on both sides, several
// rounds, whatever the weather and the limits.
#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "pt2pt/functions.hpp"
#include "test/simulate/buffer.hpp"
#include "test/simulate/settings.hpp"
#include "test/simulate/world.hpp"

namespace dunlin::test {
namespace {

/// A send and its receive.
struct Pair {
  int from, to, tag, partitions[2];
  std::int64_t values;
  Buffer out, in;
  Request *send = nullptr, *receive = nullptr;
  std::vector<int> left = {};  // partitions that are not ready in this round
};

class Exchange {
 public:
  Exchange(World& world, std::uint64_t seed) : world_(world), dice_(seed) {
    for (std::uint64_t count = 1 + dice_() % 8; count > 0; --count) add_pair();
    std::vector<int> order;  // of the calls: those of one side in the order of the pairs
    order.insert(order.end(), pairs_.size(), 0);
    order.insert(order.end(), pairs_.size(), 1);
    std::shuffle(order.begin(), order.end(), dice_);
    std::size_t next[2] = {};
    for (const int side : order) make(pairs_[next[side]++], side);
  }
  ~Exchange() {
    for (Pair& pair : pairs_) pair.send->let_go(), pair.receive->let_go();
  }

  void run_round(std::int64_t round) {
    std::vector<Request*> requests, starts;
    for (Pair& pair : pairs_) {
      pair.left.resize(std::size_t(pair.partitions[0]));
      std::iota(pair.left.begin(), pair.left.end(), 0);
      std::shuffle(pair.left.begin(), pair.left.end(), dice_);
      requests.insert(requests.end(), {pair.send, pair.receive});
    }
    starts = requests;
    std::shuffle(starts.begin(), starts.end(), dice_);
    std::size_t partitions = 0;
    for (const Pair& pair : pairs_) partitions += pair.left.size();
    while (!starts.empty() || partitions > 0) {
      Pair& pair = pairs_[dice_() % pairs_.size()];
      if (!starts.empty() && dice_() % 2) {
        ASSERT_EQ(starts.back()->start(), Err::ok);
        starts.pop_back();
      } else if (pair.send->is_active && !pair.left.empty()) {
        make_ready(pair, round);
        --partitions;
      }
      look(pair, round);
      if (dice_() % 2) world_.engine(int(dice_() % std::uint64_t(world_.size()))).poll();
    }
    world_.finish(requests);
    for (Pair& pair : pairs_) {
      check(pair, round, 0, pair.values);
      EXPECT_EQ(pair.receive->completion.error, Err::ok);
      EXPECT_EQ(pair.receive->completion.bytes, std::uint64_t(pair.values) * 8);
      EXPECT_TRUE(pair.in.has_intact_gaps());
      pair.send->is_active = pair.receive->is_active = false;
    }
  }

 private:
  void add_pair() {
    const auto size = std::uint64_t(world_.size());
    Pair pair{int(dice_() % size),
              int(dice_() % size),
              int(dice_() % 2),
              {1 + int(dice_() % 6), 1 + int(dice_() % 6)},
              0,
              {},
              {}};
    // Twice as many: an element of one layout has two values.
    pair.values = 2 * std::int64_t(dice_() % 40) * pair.partitions[0] * pair.partitions[1];
    pair.out = Buffer(layout_of(int(dice_() % 3)), pair.values);
    pair.in = Buffer(layout_of(int(dice_() % 3)), pair.values);
    for (std::int64_t i = 0; i < pair.values; ++i) pair.in.expect_written(i);
    pairs_.push_back(std::move(pair));
  }

  void make(Pair& pair, int side) {
    Buffer& data = side ? pair.in : pair.out;
    const std::int64_t count = pair.values / pair.partitions[side] / data.layout().values;
    if (side)
      ASSERT_EQ(pt2pt::precv_init(data.at(), pair.partitions[1], count, data.type(), pair.from, pair.tag,
                                  world_.comm(pair.to), nullptr, &pair.receive),
                Err::ok);
    else
      ASSERT_EQ(pt2pt::psend_init(data.at(), pair.partitions[0], count, data.type(), pair.to, pair.tag,
                                  world_.comm(pair.from), nullptr, &pair.send),
                Err::ok);
    if (dice_() % 2) world_.engine(int(dice_() % std::uint64_t(world_.size()))).poll();
  }

  std::int64_t value(const Pair& pair, std::int64_t round, std::int64_t i) const {
    return (&pair - pairs_.data()) * 1'000'000'000 + round * 1'000'000 + i;
  }

  void make_ready(Pair& pair, std::int64_t round) {
    const int partition = pair.left.back();
    pair.left.pop_back();
    const std::int64_t values = pair.values / pair.partitions[0];
    for (std::int64_t i = partition * values; i < (partition + 1) * values; ++i)
      pair.out.set(i, value(pair, round, i));
    ASSERT_EQ(pt2pt::pready(partition, *pair.send), Err::ok);
  }

  /// What is said to have come is there.
  void look(Pair& pair, std::int64_t round) {
    if (!pair.receive->is_active) return;
    const int partition = int(dice_() % std::uint64_t(pair.partitions[1]));
    int flag = 0;
    ASSERT_EQ(pair.receive->arrived(partition, &flag), Err::ok);
    const std::int64_t values = pair.values / pair.partitions[1];
    if (flag) check(pair, round, partition * values, (partition + 1) * values);
  }

  void check(const Pair& pair, std::int64_t round, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ASSERT_SAME(pair.in.get(i), value(pair, round, i)) << i;
  }

  World& world_;
  std::mt19937_64 dice_;
  std::vector<Pair> pairs_;
};

TEST(SimulatedPartitioned, WhatIsReadyArrivesWholeInEachRound) {
  for (std::uint64_t seed = 1; seed <= 200 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 dice(seed);
    constexpr std::uint64_t kEager[] = {1, 64, 1000, 16384}, kUnexpected[] = {0, 200, 5000, 1 << 30};
    const Settings settings(
        {{"EAGER_BYTES", kEager[dice() % 4]}, {"UNEXPECTED_BYTES", kUnexpected[dice() % 4]}});
    World world(int(1 + dice() % 5), weather_of(seed));
    Exchange exchange(world, seed);
    for (std::int64_t round = 0; round < 4; ++round) exchange.run_round(round);
  }
}

TEST(SimulatedPartitioned, ASendToARankThatIsGoneFails) {
  World world(2, {});
  world.network().cut(0, 1);
  const std::int64_t values[2] = {1, 2};
  Request* send = nullptr;
  ASSERT_EQ(pt2pt::psend_init(values, 2, 1, predefined(MPI_INT64_T), 1, 0, world.comm(0), nullptr, &send),
            Err::ok);
  ASSERT_EQ(send->start(), Err::ok);
  ASSERT_EQ(pt2pt::pready_range(0, 1, *send), Err::ok);
  Request* const requests[] = {send};
  world.finish(requests);
  EXPECT_EQ(send->completion.error, Err::proc_aborted);
  send->let_go();
}

}  // namespace
}  // namespace dunlin::test
