// Integers for pointers: alone, full, and with threads that take and give back at once.
#include "base/pointer_table.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace dunlin {
namespace {

TEST(PointerTable, GivesPlacesAgain) {
  PointerTable<3> table;
  long objects[4];
  EXPECT_EQ(table.get(0), nullptr);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(table.put(&objects[i]), i);
  EXPECT_EQ(table.put(&objects[3]), 3u) << "a full table";
  EXPECT_EQ(table.get(3), nullptr);
  table.remove(0);
  table.remove(2);
  EXPECT_EQ(table.get(0), nullptr);
  EXPECT_EQ(table.get(1), &objects[1]);
  EXPECT_EQ(table.put(&objects[3]), 2u);
  EXPECT_EQ(table.put(&objects[2]), 0u);
  EXPECT_EQ(table.get(2), &objects[3]);
  EXPECT_EQ(table.get(0), &objects[2]);
  EXPECT_EQ(table.put(&objects[0]), 3u);
}

TEST(PointerTable, ThreadsNeverGetTheSamePlace) {
  constexpr int kThreads = 4, kRounds = 20000, kHeld = 3;
  const auto table = std::make_unique<PointerTable<kThreads * kHeld>>();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&table] {
      long objects[kHeld];
      std::uint32_t places[kHeld];
      for (int round = 0; round < kRounds; ++round) {
        for (int i = 0; i < kHeld; ++i) places[i] = table->put(&objects[i]);
        for (int i = 0; i < kHeld; ++i) ASSERT_EQ(table->get(places[i]), &objects[i]);
        for (int i = 0; i < kHeld; ++i) table->remove(places[(i + round) % kHeld]);
      }
    });
  for (auto& each : threads) each.join();
  for (std::uint32_t place = 0; place < kThreads * kHeld; ++place) EXPECT_EQ(table->get(place), nullptr);
}

}  // namespace
}  // namespace dunlin
