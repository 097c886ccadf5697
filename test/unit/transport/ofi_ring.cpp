// How far the two ends of a network's ring are, in every order in which frames, notices and counts may come.
#include "transport/ofi/ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "transport/ofi/frame.hpp"

namespace dunlin::transport::ofi {
namespace {

TEST(OfiRing, HasRoomForItsSlotsUntilSomeAreRead) {
  RingWriter writer(3);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    ASSERT_TRUE(writer.has_room());
    EXPECT_EQ(writer.next_slot(), slot);
    writer.wrote();
  }
  EXPECT_FALSE(writer.has_room());
  writer.heard_released(1);
  EXPECT_TRUE(writer.has_room());
  EXPECT_EQ(writer.next_slot(), 0u);
}

TEST(OfiRing, OldNewsAreNone) {
  RingWriter writer(4);
  for (int frame = 0; frame < 4; ++frame) writer.wrote();
  writer.heard_released(3);
  writer.heard_released(1);
  for (int frame = 0; frame < 3; ++frame) writer.wrote();
  EXPECT_FALSE(writer.has_room());
}

TEST(OfiRing, FramesThatComeOutOfOrderAreReadInOrder) {
  RingReader reader(4);
  reader.filled(1);
  EXPECT_FALSE(reader.has_next());
  reader.filled(0);
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    ASSERT_TRUE(reader.has_next());
    EXPECT_EQ(reader.next_slot(), slot);
    reader.read_next();
  }
  EXPECT_FALSE(reader.has_next());
  EXPECT_EQ(reader.unreported(), 2u);
  reader.report();
  EXPECT_EQ(reader.unreported(), 0u);
}

TEST(OfiRing, OneCountTellsOfAllFramesBelowIt) {
  RingReader reader(4);
  reader.filled_until(3);
  for (int frame = 0; frame < 3; ++frame) reader.read_next();
  reader.filled_until(3);
  EXPECT_FALSE(reader.has_next());
  reader.filled_until(7);
  for (int frame = 0; frame < 4; ++frame) reader.read_next();
  EXPECT_EQ(reader.read(), 7u);
}

/// A network that completes writes in any order, and counts that come late or twice.
TEST(OfiRing, LosesAndDoublesNothingInAnyOrder) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const std::uint32_t slots : {2u, 3u, 8u, 33u}) {
    RingWriter writer(slots);
    RingReader reader(slots);
    std::vector<std::uint64_t> memory(slots);
    std::vector<std::uint32_t> notices;
    std::deque<std::uint32_t> counts;
    std::uint64_t read = 0;
    for (int step = 0; step < 100'000; ++step) {
      switch (random() % 4) {
        case 0:
          if (!writer.has_room()) break;
          memory[writer.next_slot()] = writer.written();
          notices.push_back(writer.next_slot());
          writer.wrote();
          break;
        case 1:
          if (notices.empty()) break;
          std::swap(notices[random() % notices.size()], notices.back());
          reader.filled(notices.back());
          notices.pop_back();
          break;
        case 2:
          if (!reader.has_next()) break;
          ASSERT_EQ(memory[reader.next_slot()], read++);
          reader.read_next();
          counts.push_back(std::uint32_t(reader.read()));
          break;
        default:
          if (counts.empty()) break;
          writer.heard_released(counts[random() % counts.size()]);
          if (counts.size() > 3) counts.pop_front();
      }
    }
    EXPECT_GT(read, 1000u);
  }
}

TEST(OfiRing, ANoticeIsOneWordOf32Bits) {
  for (const auto kind : {Notice::Kind::frame, Notice::Kind::released, Notice::Kind::data})
    for (const std::uint32_t number : {0u, 1u, (1u << Notice::kNumberBits) - 1})
      for (const std::uint32_t slot : {0u, 1u, (1u << Notice::kSlotBits) - 1}) {
        const std::uint64_t word = Notice{kind, number, slot}.word();
        EXPECT_EQ(word >> 32, 0u);
        const Notice same = Notice::of(word);
        EXPECT_EQ(same.kind, kind);
        EXPECT_EQ(same.number, number);
        EXPECT_EQ(same.slot, slot);
      }
}

}  // namespace
}  // namespace dunlin::transport::ofi
