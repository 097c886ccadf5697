// The registration cache against a registrar that knows which ranges are alive and checks every promise.
#include "peer/registration_cache.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>
#include <vector>

namespace dunlin::peer {
namespace {

class Recorder final : public Registrar {
 public:
  bool try_register(std::uint64_t begin, std::uint64_t end, std::uint64_t& handle) noexcept override {
    if (refuse) return false;
    handle = ++last;
    EXPECT_TRUE(alive.insert({handle, begin, end}).second);
    return true;
  }
  void unregister(std::uint64_t begin, std::uint64_t end, std::uint64_t handle) noexcept override {
    EXPECT_EQ(alive.erase({handle, begin, end}), 1u) << "ended twice, or never begun";
  }
  bool is_alive(const Registration& each) const { return alive.count({each.handle, each.begin, each.end}); }

  std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> alive;
  std::uint64_t last = 0;
  bool refuse = false;
};

RegistrationCache::Limits limits(std::size_t ranges, std::size_t linger = 0) {
  return {.ranges_max = ranges, .bytes_max = UINT64_MAX, .linger = linger, .granule = 4096};
}
/// Acquires and releases; the range's handle.
std::uint64_t touch(RegistrationCache& cache, std::uint64_t at, std::size_t bytes) {
  Registration* found = cache.acquire(at, bytes);
  const std::uint64_t handle = found ? found->handle : 0;
  if (found) cache.release(found);
  return handle;
}

TEST(RegistrationCache, FindsWhatItKeeps) {
  Recorder recorder;
  RegistrationCache cache(recorder, limits(8));
  const std::uint64_t first = touch(cache, 10000, 5000);
  EXPECT_EQ(touch(cache, 10000, 5000), first);
  EXPECT_EQ(touch(cache, 12000, 100), first);
  EXPECT_EQ(touch(cache, 8192, 8192), first) << "whole granules were registered";
  EXPECT_NE(touch(cache, 16384, 1), first);
  EXPECT_EQ(cache.counters().hits, 3u);
  EXPECT_EQ(cache.counters().misses, 2u);
}

TEST(RegistrationCache, GrowingRangesBecomeOne) {
  Recorder recorder;
  RegistrationCache cache(recorder, limits(8));
  touch(cache, 4096, 4096);
  touch(cache, 16384, 4096);
  const std::uint64_t whole = touch(cache, 5000, 13000);
  EXPECT_EQ(cache.ranges(), 1u);
  EXPECT_EQ(cache.bytes(), 16384u);
  EXPECT_EQ(cache.counters().merges, 2u);
  EXPECT_EQ(touch(cache, 4096, 16384), whole);
  EXPECT_EQ(recorder.alive.size(), 1u) << "the parts were given back";
}

TEST(RegistrationCache, NeighboursStayApart) {
  Recorder recorder;
  RegistrationCache cache(recorder, limits(8));
  touch(cache, 4096, 4096);
  touch(cache, 8192, 4096);
  EXPECT_EQ(cache.ranges(), 2u);
}

TEST(RegistrationCache, EvictsWhatWasUnusedLongest) {
  Recorder recorder;
  RegistrationCache cache(recorder, limits(2));
  const std::uint64_t a = touch(cache, 0x10000, 1);
  const std::uint64_t b = touch(cache, 0x20000, 1);
  touch(cache, 0x10000, 1);
  touch(cache, 0x30000, 1);
  EXPECT_EQ(cache.counters().evictions, 1u);
  EXPECT_EQ(recorder.alive.count({a, 0x10000, 0x11000}), 1u);
  EXPECT_EQ(recorder.alive.count({b, 0x20000, 0x21000}), 0u);
}

TEST(RegistrationCache, HeldRangesLiveOn) {
  Recorder recorder;
  RegistrationCache cache(recorder, limits(1));
  Registration* held = cache.acquire(0x10000, 1);
  touch(cache, 0x20000, 1);
  cache.invalidate(0x10000, 1);
  EXPECT_TRUE(recorder.is_alive(*held));
  const std::uint64_t handle = held->handle;
  cache.release(held);
  EXPECT_EQ(recorder.alive.count({handle, 0x10000, 0x11000}), 0u);
}

TEST(RegistrationCache, LingersForTransfersWithoutHolders) {
  Recorder recorder;
  RegistrationCache cache(recorder, limits(1, 3));
  for (std::uint64_t i = 1; i <= 4; ++i) touch(cache, i << 20, 1);
  EXPECT_EQ(recorder.alive.size(), 4u) << "one in the tree, three lingering";
  touch(cache, 5 << 20, 1);
  EXPECT_EQ(recorder.alive.size(), 4u);
}

TEST(RegistrationCache, InvalidationForgetsAllThatTouches) {
  Recorder recorder;
  RegistrationCache cache(recorder, limits(8));
  const std::uint64_t a = touch(cache, 0x10000, 0x4000);
  const std::uint64_t b = touch(cache, 0x20000, 0x4000);
  const std::uint64_t c = touch(cache, 0x30000, 0x4000);
  cache.invalidate(0x13fff, 0x20000 - 0x13fff + 1);  // the last byte of a to the first of b
  EXPECT_EQ(cache.ranges(), 1u);
  EXPECT_NE(touch(cache, 0x10000, 1), a);
  EXPECT_NE(touch(cache, 0x20000, 1), b);
  EXPECT_EQ(touch(cache, 0x30000, 1), c);
}

TEST(RegistrationCache, RefusalLeavesEverythingAsItWas) {
  Recorder recorder;
  RegistrationCache cache(recorder, limits(8));
  const std::uint64_t a = touch(cache, 0x10000, 0x1000);
  recorder.refuse = true;
  EXPECT_EQ(cache.acquire(0x10000, 0x9000), nullptr);
  EXPECT_EQ(touch(cache, 0x10000, 0x1000), a);
  EXPECT_EQ(cache.acquire(UINT64_MAX - 10, 100), nullptr);
}

TEST(RegistrationCache, RandomHistoryAgainstAModel) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  Recorder recorder;
  {
    RegistrationCache cache(recorder, limits(40, 5));
    std::vector<Registration*> held;
    for (int step = 0; step < 20000; ++step) {
      const std::uint64_t at = random() % (1 << 22);
      const std::size_t bytes = 1 + random() % (random() % 8 ? 9000 : 200000);
      if (random() % 50 == 0) {
        cache.invalidate(at, bytes);
      } else if (Registration* found = cache.acquire(at, bytes)) {
        ASSERT_LE(found->begin, at);
        ASSERT_GE(found->end, at + bytes);
        ASSERT_TRUE(found->can_be_found);
        ASSERT_TRUE(recorder.is_alive(*found));
        held.push_back(found);
      }
      while (held.size() > random() % 12) {
        const std::size_t pick = random() % held.size();
        ASSERT_TRUE(recorder.is_alive(*held[pick])) << "ended while held";
        cache.release(held[pick]);
        held.erase(held.begin() + std::ptrdiff_t(pick));
      }
      ASSERT_LE(cache.ranges(), 40u);
      ASSERT_LE(recorder.alive.size(), 40u + 5u + 12u);
    }
    for (Registration* each : held) cache.release(each);
  }
  EXPECT_TRUE(recorder.alive.empty()) << "everything is given back at the end";
}

TEST(RegistrationCache, ThreadsShareIt) {
  class Counter final : public Registrar {
   public:
    bool try_register(std::uint64_t, std::uint64_t, std::uint64_t& handle) noexcept override {
      handle = 0;
      return ++alive, true;
    }
    void unregister(std::uint64_t, std::uint64_t, std::uint64_t) noexcept override { --alive; }
    std::atomic<int> alive = 0;
  };
  Counter counter;
  {
    RegistrationCache cache(counter, limits(16, 4));
    std::vector<std::thread> threads;
    for (unsigned id = 0; id < 4; ++id)
      threads.emplace_back([&, id] {
        std::mt19937 random(id);
        for (int step = 0; step < 3000; ++step) touch(cache, random() % (1 << 20), 1 + random() % 20000);
      });
    for (auto& each : threads) each.join();
  }
  EXPECT_EQ(counter.alive, 0);
}

}  // namespace
}  // namespace dunlin::peer
