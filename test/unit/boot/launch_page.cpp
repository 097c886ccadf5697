// The launch page: made once, mapped by many, states and the first abort.
#include "boot/launch_page.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace dunlin::boot {
namespace {

TEST(LaunchPage, TwoMappingsSeeEachOther) {
  const int fd = make_node_segment(5000, 8, {32, 4});
  ASSERT_GE(fd, 0);
  LaunchPage* one = map_launch_page(fd, 5000);
  LaunchPage* two = map_launch_page(fd, 5000);
  ASSERT_TRUE(one && two && one != two);
  EXPECT_EQ(two->cpus_usable, 8u);
  EXPECT_EQ(two->near, (os::NearRanks{32, 4}));
  EXPECT_EQ(two->state(4999), RankState::started);
  EXPECT_TRUE(one->try_begin(4999));
  EXPECT_FALSE(two->try_begin(4999));
  EXPECT_EQ(two->state(4999), RankState::initialized);
  one->set_state(4999, RankState::finalized);
  EXPECT_FALSE(two->try_begin(4999));
  EXPECT_EQ(two->state(4999), RankState::finalized);
  unmap_launch_page(one, 5000);
  unmap_launch_page(two, 5000);
  ::close(fd);
}

TEST(LaunchPage, FirstAbortStays) {
  const int fd = make_node_segment(2, 1);
  LaunchPage* page = map_launch_page(fd, 2);
  ASSERT_TRUE(page);
  EXPECT_FALSE(page->is_aborted());
  page->record_abort(1, 42, "first");
  page->record_abort(0, 43, "second");
  EXPECT_TRUE(page->is_aborted());
  EXPECT_EQ(page->abort_rank.load(), 1);
  EXPECT_EQ(page->abort_code, 42);
  EXPECT_STREQ(page->abort_message, "first");
  unmap_launch_page(page, 2);
  ::close(fd);
}

TEST(LaunchPage, LongMessageIsCut) {
  const int fd = make_node_segment(1, 1);
  LaunchPage* page = map_launch_page(fd, 1);
  ASSERT_TRUE(page);
  page->record_abort(0, 1, std::string(5000, 'x').c_str());
  EXPECT_EQ(std::string(page->abort_message).size(), LaunchPage::kMessageBytes - 1);
  unmap_launch_page(page, 1);
  ::close(fd);
}

TEST(LaunchPage, RefusesOtherDescriptors) {
  const int fd = make_node_segment(4, 1);
  EXPECT_EQ(map_launch_page(fd, 3), nullptr);
  EXPECT_EQ(map_launch_page(fd, 400000), nullptr);
  EXPECT_EQ(map_launch_page(-1, 4), nullptr);
  EXPECT_EQ(map_launch_page(0, 4), nullptr);
  ::close(fd);
}

TEST(LaunchPage, BytesAreWholePages) {
  for (const int size : {1, 2, 3000, 3664, 3665, 100000}) {
    EXPECT_EQ(launch_page_bytes(size) % 4096, 0u);
    EXPECT_GE(launch_page_bytes(size), sizeof(LaunchPage) + std::size_t(size));
    EXPECT_LT(launch_page_bytes(size),
              sizeof(LaunchPage) + std::size_t(size) * (1 + sizeof(RankWaits)) + 64 + 4096);
  }
}

}  // namespace
}  // namespace dunlin::boot
