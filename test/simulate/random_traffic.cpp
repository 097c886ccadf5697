// Random traffic in random weather: every way of a message, in every mode, size and layout, by every call.
//
// A seed draws the nodes, what ranks can do with each other's memory, the sizes of rings and limits, and the
// traffic.  DUNLIN_TEST_SEED=n runs one seed; else seeds are run from 1 on, or from DUNLIN_TEST_FIRST_SEED,
// until DUNLIN_TEST_SECONDS (5) are over or DUNLIN_TEST_SEEDS have been run.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "os/clock.hpp"
#include "test/simulate/settings.hpp"
#include "test/simulate/told_seed.hpp"
#include "test/simulate/traffic.hpp"

namespace dunlin::test {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::uint64_t one_of(Dice& dice, std::initializer_list<std::uint64_t> values) {
  return values.begin()[draw(dice, values.size())];
}

Nodes nodes_of(Dice& dice) {
  Nodes nodes;
  const std::uint64_t ranks = 1 + draw(dice, 6), count = 1 + draw(dice, ranks);
  for (std::uint64_t i = 0; i < ranks; ++i) nodes.of_rank.push_back(int(draw(dice, count)));
  MemoryWeather& memory = nodes.memory;
  memory.maps = is_drawn(dice, 60);
  memory.reads = is_drawn(dice, 40);
  memory.shared = unsigned(one_of(dice, {0, 50, 100, 100}));
  memory.decline = unsigned(one_of(dice, {0, 0, 10, 50}));
  memory.late = unsigned(one_of(dice, {0, 0, 30, 95}));
  memory.fork = unsigned(one_of(dice, {0, 0, 3, 20}));
  return nodes;
}

Settings settings_of(Dice& dice, std::uint64_t eager_bytes) {
  return Settings({{"EAGER_BYTES", eager_bytes},
                   {"UNEXPECTED_BYTES", one_of(dice, {0, 200, 5000, 1 << 30, 1 << 30})},
                   {"SHARED_COPY_BYTES", one_of(dice, {1, 64, 1000, 16384})},
                   {"SHARED_COPY_CHUNK_BYTES", one_of(dice, {64, 1024, 65536})},
                   {"SHARED_COPY_HELP_POLLS", one_of(dice, {0, 3, 32})},
                   {"SHM_RING_LINES", one_of(dice, {4, 16, 256})},
                   {"SHM_BULK_BYTES", one_of(dice, {1024, 4096, 65536, 1 << 20})},
                   {"SHM_CELLS", one_of(dice, {1, 4, 64})},
                   {"SHM_CELL_BYTES", one_of(dice, {64, 256})},
                   {"SHM_INBOX_MESSAGES", one_of(dice, {0, 1, 4, 100})}});
}

void run_seed(std::uint64_t seed) {
  Dice dice(seed);
  const std::uint64_t eager_bytes = one_of(dice, {1, 64, 1000, 4096, 16384, 16384});
  const Settings settings = settings_of(dice, eager_bytes);
  const Nodes nodes = nodes_of(dice);
  SCOPED_TRACE(settings.describe() + describe(nodes));
  World world(nodes, weather_of(seed));
  if (is_drawn(dice, 50))
    for (int rank = 0; rank < world.size(); ++rank) world.engine(rank).set_oversubscribed(is_drawn(dice, 50));
  Traffic(world, seed, eager_bytes).run();
}

TEST(RandomTraffic, EverythingArrivesWholeAndInOrder) {
  TellsSeed teller;
  const std::uint64_t one = number_from_environment("DUNLIN_TEST_SEED", 0);
  const std::uint64_t first = one ? one : number_from_environment("DUNLIN_TEST_FIRST_SEED", 1);
  const std::uint64_t most = one ? 1 : number_from_environment("DUNLIN_TEST_SEEDS", ~std::uint64_t{0});
  const std::uint64_t seconds = number_from_environment("DUNLIN_TEST_SECONDS", 5);
  const std::int64_t end_ns = os::now_ns() + std::int64_t(seconds) * 1'000'000'000;
  std::uint64_t done = 0;
  for (; done < most && (one || os::now_ns() < end_ns) && !HasFailure(); ++done) {
    teller.seed = first + done;
    SCOPED_TRACE("DUNLIN_TEST_SEED=" + std::to_string(first + done));
    run_seed(first + done);
  }
  std::printf("%llu seeds from %llu on\n", static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(first));
}

}  // namespace
}  // namespace dunlin::test
