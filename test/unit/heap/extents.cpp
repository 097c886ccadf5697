// The books of the arena against a slow model: which page belongs to whom, and which free pages are clean.
#include "heap/extents.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>
#include <random>
#include <vector>

namespace dunlin::heap {
namespace {

struct Books {
  explicit Books(std::uint32_t pages) : bytes((pages + 1) * sizeof(Extents::Entry)) {
    table = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    extents.init(static_cast<Extents::Entry*>(table), pages);
  }
  ~Books() { munmap(table, bytes); }
  Books(const Books&) = delete;
  std::size_t bytes;
  void* table;
  Extents extents;
};

TEST(Extents, GivesAlignedRunsAndReusesThem) {
  Books books(4096);
  const std::uint32_t small = books.extents.take(16, 1, false);
  EXPECT_EQ(small, 1u);
  const std::uint32_t large = books.extents.take(1024, 512, false);
  EXPECT_EQ(large % 512, 0u);
  EXPECT_TRUE(books.extents.is_sound());
  books.extents.give(small, true);
  const std::uint32_t again = books.extents.take(16, 1, false);
  EXPECT_EQ(again, small);
  EXPECT_TRUE(books.extents.at(again).flags & Extents::kDirty);
}

TEST(Extents, PrefersCleanPagesWhenAsked) {
  Books books(4096);
  const std::uint32_t first = books.extents.take(64, 1, false);
  books.extents.give(first, true);
  const std::uint32_t clean = books.extents.take(64, 1, true);
  EXPECT_NE(clean, first);
  EXPECT_FALSE(books.extents.at(clean).flags & Extents::kDirty);
}

TEST(Extents, RefusesWhatDoesNotFit) {
  Books books(128);
  EXPECT_EQ(books.extents.take(128, 1, false), 0u);
  const std::uint32_t all = books.extents.take(127, 1, false);
  EXPECT_EQ(all, 1u);
  EXPECT_EQ(books.extents.take(1, 1, false), 0u);
  books.extents.give(all, true);
  EXPECT_EQ(books.extents.take(127, 1, true), all) << "dirty pages are better than none";
}

TEST(Extents, CleansPartOfARun) {
  Books books(4096);
  const std::uint32_t run = books.extents.give(books.extents.take(2000, 1, false), true);
  books.extents.clean(run, 512, 1536);
  EXPECT_EQ(books.extents.dirty_pages(), 2000u - 1024u);
  EXPECT_TRUE(books.extents.is_sound());
  const std::uint32_t inside = books.extents.take(1024, 512, true);
  EXPECT_EQ(inside, 512u);
}

TEST(Extents, GrowsIntoFreeNeighboursOnly) {
  Books books(4096);
  const std::uint32_t a = books.extents.take(16, 1, false);
  const std::uint32_t b = books.extents.take(16, 1, false);
  EXPECT_FALSE(books.extents.try_grow(a, 17));
  books.extents.give(b, true);
  EXPECT_TRUE(books.extents.try_grow(a, 20));
  EXPECT_EQ(books.extents.at(a).pages, 20u);
  EXPECT_TRUE(books.extents.is_sound());
  books.extents.shrink(a, 4);
  EXPECT_EQ(books.extents.at(a).pages, 4u);
  EXPECT_TRUE(books.extents.is_sound());
}

TEST(Extents, RenewedRunsAreCleanOrLost) {
  Books books(4096);
  const std::uint32_t a = books.extents.take(16, 1, false);
  const std::uint32_t b = books.extents.take(16, 1, false);
  books.extents.take(16, 1, false);
  books.extents.give(a, true);
  books.extents.set_flags(a, books.extents.at(a).flags | Extents::kFrozen);
  books.extents.renew(a, true);
  EXPECT_EQ(books.extents.dirty_pages(), 0u);
  books.extents.give(b, true);
  books.extents.renew(b, false);
  EXPECT_TRUE(books.extents.is_sound());
  EXPECT_EQ(books.extents.take(16, 1, true), a);
  EXPECT_NE(books.extents.take(16, 1, false), b) << "a lost run is never handed out";
}

TEST(Extents, RandomHistoryKeepsTheBooks) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  constexpr std::uint32_t kPages = 1u << 16;
  Books books(kPages);
  std::map<std::uint32_t, std::uint32_t> held;  // first page -> pages
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 || held.empty()) {
      const std::uint32_t pages = 1 + random() % (random() % 10 ? 64 : 4096);
      const std::uint32_t alignment = random() % 4 ? 1 : 512;
      const std::uint32_t first = books.extents.take(pages, alignment, random() % 2);
      if (!first) continue;
      ASSERT_EQ(first % alignment, 0u);
      const auto next = held.lower_bound(first);
      ASSERT_TRUE(next == held.end() || first + pages <= next->first);
      ASSERT_TRUE(next == held.begin() || std::prev(next)->first + std::prev(next)->second <= first);
      held[first] = pages;
    } else {
      auto each = held.lower_bound(random() % kPages);
      if (each == held.end()) each = held.begin();
      const bool is_resize = random() % 3 == 0;
      const std::uint32_t wanted = 1 + random() % (2 * each->second);
      if (is_resize && wanted < each->second) {
        books.extents.shrink(each->first, wanted);
        each->second = wanted;
      } else if (is_resize && wanted > each->second) {
        if (books.extents.try_grow(each->first, wanted)) each->second = wanted;
      } else {
        const std::uint32_t run = books.extents.give(each->first, true);
        if (random() % 2) {
          const auto [from, to] = books.extents.free_around(run, random() % 2 ? 1 : 512);
          ASSERT_LE(from, run);
          ASSERT_GE(to, run + books.extents.at(run).pages);
          for (const auto& [first, pages] : held)
            ASSERT_TRUE(first == each->first || first + pages <= from || first >= to);
          const std::uint32_t begin = std::min(run, from + std::uint32_t(random() % 600));
          books.extents.clean(from, begin, begin + std::uint32_t(random() % (to - begin + 1)));
        }
        held.erase(each);
      }
    }
    if (step % 500 == 0) {
      ASSERT_TRUE(books.extents.is_sound());
    }
  }
  std::uint64_t used = 0;
  for (const auto& [first, pages] : held) {
    ASSERT_EQ(books.extents.at(first).pages, pages);
    used += pages;
  }
  EXPECT_EQ(books.extents.used_pages(), used);
  EXPECT_TRUE(books.extents.is_sound());
}

}  // namespace
}  // namespace dunlin::heap
