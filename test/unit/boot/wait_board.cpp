#include "boot/wait_board.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <thread>

namespace dunlin::boot {
namespace {

WaitRecord record_of(int number) {
  WaitRecord record;
  record.since_ns = record.reason.peer = record.reason.tag = number;
  std::snprintf(record.call, sizeof record.call, "MPI_Call_%d", number);
  std::snprintf(record.reason.hint, sizeof record.reason.hint, "hint %d", number);
  return record;
}

TEST(WaitBoard, ShowsWhatIsNotedUntilItIsForgotten) {
  const auto waits = std::make_unique<RankWaits>();
  RankWaits::Counts counts;
  WaitRecord records[RankWaits::kRecordsMax];
  int count = -1;
  ASSERT_TRUE(waits->try_read(counts, records, count));
  EXPECT_EQ(count, 0);
  EXPECT_EQ(counts.waiting, 0);
  const int first = waits->note(record_of(1), false), second = waits->note(record_of(2), true);
  waits->count_round();
  const std::uint32_t changes_before = counts.changes;
  ASSERT_TRUE(waits->try_read(counts, records, count));
  EXPECT_EQ(count, 2);
  EXPECT_EQ(counts.waiting, 2);
  EXPECT_TRUE(counts.has_threads);
  EXPECT_EQ(counts.rounds, 1u);
  EXPECT_NE(counts.changes, changes_before);
  EXPECT_STREQ(records[1].call, "MPI_Call_2");
  waits->forget(first);
  ASSERT_TRUE(waits->try_read(counts, records, count));
  EXPECT_EQ(count, 1);
  EXPECT_STREQ(records[0].reason.hint, "hint 2");
  waits->forget(second);
}

TEST(WaitBoard, CountsWaitsThatHaveNoPlace) {
  const auto waits = std::make_unique<RankWaits>();
  for (int i = 0; i < RankWaits::kRecords; ++i) EXPECT_EQ(waits->note(record_of(i), true), i);
  EXPECT_EQ(waits->note(record_of(99), true), RankWaits::kNoPlace);
  RankWaits::Counts counts;
  int count;
  ASSERT_TRUE(waits->try_read(counts, nullptr, count));
  EXPECT_EQ(counts.waiting, RankWaits::kRecords + 1);
  waits->forget(RankWaits::kNoPlace);
  ASSERT_TRUE(waits->try_read(counts, nullptr, count));
  EXPECT_EQ(counts.waiting, RankWaits::kRecords);
}

TEST(WaitBoard, CountsWorkThatNoRoundSees) {
  const auto waits = std::make_unique<RankWaits>();
  RankWaits::Counts counts;
  int count;
  for (const int unseen : {1, 2}) {
    waits->begin_unseen();
    ASSERT_TRUE(waits->try_read(counts, nullptr, count));
    EXPECT_EQ(counts.unseen, unseen);
  }
  waits->end_unseen();
  ASSERT_TRUE(waits->try_read(counts, nullptr, count));
  EXPECT_EQ(counts.unseen, 1);
}

TEST(WaitBoard, ShowsTestsInVainSinceTheQuestion) {
  const auto waits = std::make_unique<RankWaits>();
  RankWaits::Counts counts;
  WaitRecord records[RankWaits::kRecordsMax];
  int count = -1;
  EXPECT_FALSE(waits->is_asked_for_tests());
  waits->ask_for_tests();
  EXPECT_TRUE(waits->is_asked_for_tests());
  EXPECT_FALSE(waits->has_noted_test());
  ASSERT_TRUE(waits->try_read(counts, records, count));
  EXPECT_EQ(count, 0);
  waits->note_test(record_of(5));
  EXPECT_TRUE(waits->has_noted_test());
  waits->count_test();
  (void)waits->note(record_of(1), true);
  waits->stop_asking();
  ASSERT_TRUE(waits->try_read(counts, records, count));
  EXPECT_EQ(count, 2);
  EXPECT_EQ(counts.waiting, 1);
  EXPECT_EQ(counts.tests, 2u);
  EXPECT_STREQ(records[1].call, "MPI_Call_5");
  waits->ask_for_tests();  // what was tested before is no answer
  ASSERT_TRUE(waits->try_read(counts, records, count));
  EXPECT_EQ(count, 1);
  EXPECT_EQ(counts.tests, 0u);
  waits->note_test(record_of(6));
  waits->forget_test();
  EXPECT_FALSE(waits->has_noted_test());
  ASSERT_TRUE(waits->try_read(counts, records, count));
  EXPECT_EQ(count, 1);
}

TEST(WaitBoard, ReaderNeverSeesHalfARecord) {
  const auto waits = std::make_unique<RankWaits>();
  std::thread writer([&] {
    for (int i = 1; i <= 20000; ++i) {
      const int place = waits->note(record_of(i), false);
      waits->count_round();
      waits->forget(place);
    }
  });
  RankWaits::Counts counts;
  WaitRecord records[RankWaits::kRecordsMax];
  for (int count = 0, last = 0; last < 20000 && counts.rounds < 20000;) {
    if (!waits->try_read(counts, records, count) || count == 0) continue;
    const WaitRecord expected = record_of(records[0].reason.tag);
    EXPECT_GE(records[0].reason.tag, last);
    last = records[0].reason.tag;
    ASSERT_EQ(records[0].since_ns, expected.since_ns);
    ASSERT_STREQ(records[0].call, expected.call);
    ASSERT_STREQ(records[0].reason.hint, expected.reason.hint);
  }
  writer.join();
}

}  // namespace
}  // namespace dunlin::boot
