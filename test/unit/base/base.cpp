// Settings, pools and the lock.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/big_lock.hpp"
#include "base/err.hpp"
#include "base/little_behind.hpp"
#include "base/size_pool.hpp"
#include "base/variable.hpp"
#include "os/clock.hpp"

using namespace dunlin;

namespace {

IntVariable number{"TEST_NUMBER", 7, "things", "a number for this test", 0, 1 << 30};
WordVariable word{"TEST_WORD", "red", "red|green", "a word for this test"};

std::int64_t number_of(const char* text) {
  setenv("DUNLIN_TEST_NUMBER", text, 1);
  Variable::read_all_again();
  unsetenv("DUNLIN_TEST_NUMBER");
  return number.get();
}

TEST(Variable, ReadsNumbersSizesAndSwitches) {
  EXPECT_EQ(number_of("12"), 12);
  EXPECT_EQ(number_of("4k"), 4096);
  EXPECT_EQ(number_of("1M"), 1 << 20);
  EXPECT_EQ(number_of("on"), 1);
  EXPECT_EQ(number_of("false"), 0);
}

TEST(Variable, KeepsTheDefaultForNonsense) {
  for (const char* text : {"", "many", "12q", "4kk", "-1", "9999999999999999999", "2g"})
    EXPECT_EQ(number_of(text), 7) << text;
}

TEST(Variable, TakesOnlyListedWords) {
  setenv("DUNLIN_TEST_WORD", "green", 1);
  Variable::read_all_again();
  EXPECT_STREQ(word.get(), "green");
  EXPECT_EQ(word.index(), 1);
  EXPECT_EQ(word.source(), Variable::Source::environment);
  setenv("DUNLIN_TEST_WORD", "blue", 1);
  Variable::read_all_again();
  EXPECT_STREQ(word.get(), "red");
  unsetenv("DUNLIN_TEST_WORD");
}

TEST(Variable, NamesTheNearestForUnknownOnes) {
  setenv("DUNLIN_TEST_NUMBRE", "1", 1);
  testing::internal::CaptureStderr();
  Variable::warn_of_unknown();
  unsetenv("DUNLIN_TEST_NUMBRE");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("did you mean DUNLIN_TEST_NUMBER?"),
            std::string::npos);
}

TEST(Err, KeepsTheSentenceOfItsClassPerThread) {
  EXPECT_EQ(fail(Err::tag, "tag %d", 5), Err::tag);
  EXPECT_STREQ(error_detail(Err::tag), "tag 5");
  EXPECT_STREQ(error_detail(Err::rank), "");
  std::thread([] { EXPECT_STREQ(error_detail(Err::tag), ""); }).join();
}

/// Where the target begins `behind` bytes behind the source, modulo a page; both are in the cache.
std::int64_t best_ns_of_copies(std::size_t bytes, std::size_t behind) {
  constexpr std::size_t kPage = 4096;
  static std::vector<std::byte> from(16 * kPage), to(16 * kPage);
  const auto at = [](std::vector<std::byte>& block) {
    return block.data() + kPage - reinterpret_cast<std::uintptr_t>(block.data()) % kPage;
  };
  std::int64_t best = INT64_MAX;
  for (int run = 0; run < 20; ++run) {
    const std::int64_t start = os::now_ns();
    for (int i = 0; i < 10; ++i) copy_block(at(to) + behind, at(from), bytes);
    best = std::min(best, os::now_ns() - start);
  }
  return best;
}

/// The string instructions of some processors take thirty times as long there.
TEST(CopyBlock, TakesNoLongerALittleBehind) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "each line that is copied is looked at, each string instruction is not";
#endif
  for (const std::size_t bytes : {4096, 16384, 50000})
    for (const std::size_t behind : {1, 16, 31})
      EXPECT_LT(best_ns_of_copies(bytes, behind), 8 * best_ns_of_copies(bytes, 512)) << bytes;
}

TEST(CopyBlock, CopiesAllAndNoMore) {
  for (const std::size_t behind : {0, 1, 31, 32, 4095})
    for (const std::size_t bytes : {0, 1, 1023, 1024, 1025, 2048, 5000}) {
      std::vector<std::byte> from(bytes + 1), to(3 * 4096 + bytes), expected(to.size());
      for (std::size_t i = 0; i < bytes; ++i) from[i] = std::byte(i * 7 + 1);
      const auto gap = (reinterpret_cast<std::uintptr_t>(from.data()) + behind + 4096 -
                        reinterpret_cast<std::uintptr_t>(to.data()) % 4096) %
                       4096;
      std::copy_n(from.begin(), bytes, expected.begin() + std::ptrdiff_t(gap));
      copy_block(to.data() + gap, from.data(), bytes);
      EXPECT_EQ(to, expected) << bytes << " " << behind;
    }
}

TEST(SizePool, GivesDistinctAlignedMemoryAndTakesItBack) {
  static SizePool pool;  // keeps its memory for good
  std::vector<std::pair<void*, std::size_t>> taken;
  for (std::size_t bytes = 1; bytes < 3000; bytes += 7) {
    void* at = pool.take(bytes);
    ASSERT_NE(at, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 16, 0u);
    std::memset(at, int(bytes & 0xff), bytes);
    taken.emplace_back(at, bytes);
  }
  for (auto [at, bytes] : taken) {
    EXPECT_EQ(static_cast<unsigned char*>(at)[bytes - 1], bytes & 0xff);
    pool.give_back(at, bytes);
  }
  void* again = pool.take(100);
  pool.give_back(again, 100);
  EXPECT_EQ(pool.take(100), again) << "memory is reused";
}

TEST(BigLock, KeepsThreadsApartAndIsRecursive) {
  BigLock::set_needed(true);
  int counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        BigLock::Guard outer;
        BigLock::Guard inner;
        ++counter;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter, 40'000);
}

TEST(BigLock, GivesUpAllLevelsAtOnce) {
  BigLock::acquire();
  BigLock::acquire();
  const int levels = BigLock::release_all();
  EXPECT_EQ(levels, 2);
  std::thread([] { BigLock::Guard guard; }).join();  // would hang if a level were still held
  BigLock::reacquire(levels);
  BigLock::release();
  BigLock::release();
}

}  // namespace
