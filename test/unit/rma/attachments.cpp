#include "rma/attachments.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <thread>

namespace dunlin::rma {
namespace {

/// As in a segment: all zero, and only pages in use cost memory.
struct Free {
  void operator()(Attachments* made) const { std::free(made); }
};
std::unique_ptr<Attachments, Free> make() {
  return std::unique_ptr<Attachments, Free>(static_cast<Attachments*>(std::calloc(1, sizeof(Attachments))));
}

TEST(Attachments, NeighboursAreJoinedAndGapsAreNot) {
  const auto all = make();
  EXPECT_TRUE(all->try_add({1000, 100}));
  EXPECT_TRUE(all->try_add({1100, 50}));
  EXPECT_TRUE(all->try_add({1200, 50}));
  EXPECT_FALSE(all->try_add({1149, 10}));
  EXPECT_FALSE(all->try_add({900, 101}));
  EXPECT_EQ(all->find(1000, 100).bytes, 100u);
  EXPECT_EQ(all->find(1050, 100).bytes, 150u) << "over both neighbours";
  EXPECT_EQ(all->find(1050, 101).bytes, 0u);
  EXPECT_EQ(all->find(999, 1).bytes, 0u);
  EXPECT_EQ(all->find(1149, 1).begin, 1100u);
  EXPECT_EQ(all->find(1150, 1).bytes, 0u);
  EXPECT_FALSE(all->try_remove(1001));
  EXPECT_TRUE(all->try_remove(1100));
  EXPECT_FALSE(all->try_remove(1100));
  EXPECT_EQ(all->find(1050, 100).bytes, 0u);
  EXPECT_EQ(all->find(1249, 1).begin, 1200u);
}

TEST(Attachments, AsAModel) {
  const auto all = make();
  std::map<std::uint64_t, std::uint64_t> model;
  std::mt19937 dice(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t at = dice() % 1000, bytes = 1 + dice() % 20;
    bool is_free = true, is_attached = true;
    for (std::uint64_t byte = at; byte < at + bytes; ++byte) {
      bool is_in = false;
      for (const auto& [begin, length] : model) is_in |= byte >= begin && byte < begin + length;
      is_free &= !is_in;
      is_attached &= is_in;
    }
    EXPECT_EQ(all->find(at, bytes).bytes > 0, is_attached);
    if (dice() % 2) {
      EXPECT_EQ(all->try_add({at, bytes}), is_free);
      if (is_free) model[at] = bytes;
    } else {
      EXPECT_EQ(all->try_remove(at), model.erase(at) == 1);
    }
  }
}

/// A reader never sees a half of a change: what is always attached is always found.
TEST(Attachments, ReadersSeeWholeVersions) {
  const auto all = make();
  ASSERT_TRUE(all->try_add({5000, 10}));
  std::atomic<bool> has_ended = false;
  std::thread writer([&] {
    for (int i = 0; i < 20000; ++i) {
      all->try_add({std::uint64_t(100 + i % 7 * 10), 10});
      all->try_remove(std::uint64_t(100 + (i + 3) % 7 * 10));
    }
    has_ended = true;
  });
  while (!has_ended) {
    ASSERT_EQ(all->find(5000, 10).bytes, 10u);
    ASSERT_EQ(all->find(4990, 10).bytes, 0u);
  }
  writer.join();
}

}  // namespace
}  // namespace dunlin::rma
