// The faster of two ways is taken, and the other is tried again.
#include "protocol/copy_contest.hpp"

#include <gtest/gtest.h>

namespace dunlin::protocol {
namespace {

constexpr std::uint64_t kBytes = 1 << 20;

/// Uses of `channel` among the next `uses` messages, each of which takes what its way takes.
int channel_uses(CopyContest& contest, int uses, std::int64_t kernel_ns, std::int64_t channel_ns,
                 std::uint64_t bytes = kBytes) {
  int found = 0;
  for (int i = 0; i < uses; ++i) {
    const CopyContest::Way way = contest.next(bytes);
    found += way == CopyContest::channel;
    contest.took(way, bytes, way == CopyContest::channel ? channel_ns : kernel_ns);
  }
  return found;
}

TEST(CopyContest, TakesTheFasterWayAndTriesTheOtherNowAndThen) {
  constexpr int kUses = 64 * CopyContest::kUsesPerRetry;
  for (const bool is_channel_faster : {true, false}) {
    CopyContest contest;
    const int found =
        channel_uses(contest, kUses, is_channel_faster ? 200 : 100, is_channel_faster ? 100 : 200);
    const int slower = is_channel_faster ? kUses - found : found;
    EXPECT_GE(slower, 64);
    EXPECT_LE(slower, 66);
  }
}

TEST(CopyContest, NoticesThatAWayBecameFaster) {
  CopyContest contest;
  channel_uses(contest, 100, 100, 200);
  const int found = channel_uses(contest, 40 * CopyContest::kUsesPerRetry, 100, 10);
  EXPECT_GE(found, 30 * int(CopyContest::kUsesPerRetry));
}

TEST(CopyContest, SizesAreApart) {
  CopyContest contest;
  channel_uses(contest, 100, 100, 200, 64 << 10);
  EXPECT_GE(channel_uses(contest, 100, 200, 100, 64 << 20), 90);
  EXPECT_LE(channel_uses(contest, 100, 100, 200, 64 << 10), 10);
}

}  // namespace
}  // namespace dunlin::protocol
