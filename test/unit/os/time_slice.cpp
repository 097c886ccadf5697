#include "os/time_slice.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace dunlin::os {
namespace {

TEST(TimeSlice, IsShortenedAndNeverLengthened) {
  std::thread([] {
    const std::int64_t before = time_slice();
    if (before <= 100'000) {
      EXPECT_FALSE(try_shorten_time_slice(100'000)) << "nothing to shorten, or a kernel that does not tell";
      return;
    }
    ASSERT_TRUE(try_shorten_time_slice(100'000));
    EXPECT_EQ(time_slice(), 100'000);
    std::thread([] { EXPECT_EQ(time_slice(), 100'000) << "inherited"; }).join();
    EXPECT_FALSE(try_shorten_time_slice(before));
    EXPECT_EQ(time_slice(), 100'000);
  }).join();
}

TEST(TimeSlice, IsTheUsualOneMeanwhile) {
  std::thread([] {
    const std::int64_t before = time_slice();
    if (!try_shorten_time_slice(100'000)) return;  // a kernel that does not tell
    {
      const UsualTurns turns;
      EXPECT_EQ(time_slice(), before);
      std::thread([before] { EXPECT_EQ(time_slice(), before) << "inherited"; }).join();
    }
    EXPECT_EQ(time_slice(), 100'000);
  }).join();
}

}  // namespace
}  // namespace dunlin::os
