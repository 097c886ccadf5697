#include "coll/arena.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

// Too much memory is asked for on purpose: the address sanitizer shall answer as malloc does.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace dunlin::coll {
namespace {

class Arenas : public ::testing::Test {
 protected:
  alignas(16) std::byte memory_[256];
  Arena arena_{memory_, sizeof memory_};
  bool is_own(const void* at) const { return at >= memory_ && at < memory_ + sizeof memory_; }
};

TEST_F(Arenas, StartsInItsOwnersMemoryAndGoesOnInBlocks) {
  EXPECT_TRUE(is_own(arena_.take(100)));
  EXPECT_TRUE(is_own(arena_.take(100)));
  EXPECT_FALSE(is_own(arena_.take(100)));
}

TEST_F(Arenas, TakenMemoryIsAlignedAndDoesNotOverlap) {
  std::vector<std::byte*> taken;
  for (std::size_t bytes = 0; bytes < 2000; bytes += 37) {
    auto* at = static_cast<std::byte*>(arena_.take(bytes));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(at) % 16, 0u);
    std::memset(at, int(taken.size()), bytes);
    taken.push_back(at);
  }
  for (std::size_t i = 0; i < taken.size(); ++i)
    for (std::size_t at = 0; at < i * 37; ++at) ASSERT_EQ(taken[i][at], std::byte(i)) << i;
}

TEST_F(Arenas, AfterRewindTheSameSequenceFindsTheSameMemory) {
  const std::size_t sizes[] = {64, 5000, 8, 300, 100'000, 16, 1, 4096};
  std::vector<void*> first, second;
  for (const std::size_t bytes : sizes) first.push_back(arena_.take(bytes));
  arena_.rewind();
  for (const std::size_t bytes : sizes) second.push_back(arena_.take(bytes));
  EXPECT_EQ(first, second);
}

TEST_F(Arenas, AnotherSequenceAfterRewindIsServedToo) {
  (void)arena_.take(5000);
  (void)arena_.take(50'000);
  arena_.rewind();
  for (int i = 0; i < 100; ++i) {
    auto* at = static_cast<std::byte*>(arena_.take(10'000));
    ASSERT_TRUE(at);
    std::memset(at, i, 10'000);
  }
}

TEST_F(Arenas, TooMuchIsRefused) {
  EXPECT_EQ(arena_.take(SIZE_MAX / 2), nullptr);
  EXPECT_TRUE(is_own(arena_.take(8)));
}

}  // namespace
}  // namespace dunlin::coll
