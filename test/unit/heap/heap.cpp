// The library's own arena (no allocator preloaded), the settings that two readers must understand alike.
#include "heap/heap.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/variable.hpp"
#include "heap/settings.hpp"

extern char** environ;

namespace dunlin::heap {
namespace {

std::int64_t variable_value(const char* name) {
  for (Variable* each = Variable::first(); each; each = each->next())
    if (std::strcmp(each->name(), name) == 0) {
      char text[64];
      each->print_value(text, sizeof text);
      return std::strtoll(text, nullptr, 10);
    }
  ADD_FAILURE() << "no variable " << name;
  return -1;
}

TEST(Settings, BothReadersAgree) {
  const auto compare = [] {
    const Settings read = read_settings(environ);
    EXPECT_EQ(variable_value("HEAP_BLOCK_BYTES_MIN"), std::int64_t(read.block_bytes_min));
    EXPECT_EQ(variable_value("HEAP_ADDRESS_BYTES"), std::int64_t(read.arena.address_bytes));
    EXPECT_EQ(variable_value("HEAP_CACHE_BYTES_MAX"), std::int64_t(read.arena.cache_bytes_max));
    EXPECT_EQ(variable_value("HEAP_HUGE_PERCENT"), std::int64_t(read.arena.huge_percent));
    EXPECT_EQ(variable_value("HEAP_FORK_WAIT_US"), std::int64_t(read.arena.fork_wait_us));
    EXPECT_EQ(variable_value("HEAP_STATIC"), std::int64_t(read.moves_static_data));
  };
  compare();  // the presets
  constexpr int kNames = 6;
  const char* const names[kNames] = {"DUNLIN_HEAP_BLOCK_BYTES_MIN", "DUNLIN_HEAP_ADDRESS_BYTES",
                                     "DUNLIN_HEAP_CACHE_BYTES_MAX", "DUNLIN_HEAP_HUGE_PERCENT",
                                     "DUNLIN_HEAP_FORK_WAIT_US",    "DUNLIN_HEAP_STATIC"};
  // In the last three lines both keep the presets.
  const char* const values[][kNames] = {{"128k", "4G", "0", "34", "0", "off"},
                                        {"4096", "64m", "5", "100", "1000000", "yes"},
                                        {"4095", "1m", "-1", "101", "1000001", "2"},
                                        {"0", "-64m", "9999999999g", "1g", "-1", "-1"},
                                        {"nonsense", "12%", "k", "", "1 k", "maybe"}};
  for (const auto& line : values) {
    for (int i = 0; i < kNames; ++i) setenv(names[i], line[i], 1);
    testing::internal::CaptureStderr();
    Variable::read_all_again();
    testing::internal::GetCapturedStderr();
    compare();
  }
  for (const char* each : names) unsetenv(each);
  Variable::read_all_again();
}

TEST(Heap, AllocatesSharedBlocksOfAnySize) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{3} << 20}) {
    void* block = allocate(bytes, 256);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 256, 0u);
    std::memset(block, 1, bytes);
    if (face().control() && bytes) {
      EXPECT_TRUE(is_shared(block, bytes));
    }
    release(block);
  }
}

TEST(Heap, ReleaseTakesBlocksOfTheCLibraryToo) {
  release(std::malloc(100));
  release(nullptr);
}

TEST(Heap, TooMuchIsNull) {
  void* huge = allocate(SIZE_MAX / 2 + 1);
  EXPECT_EQ(huge, nullptr);
}

TEST(Heap, StackIsNotShared) {
  char here[64] = {};
  EXPECT_FALSE(is_shared(here, sizeof here));
}

}  // namespace
}  // namespace dunlin::heap
