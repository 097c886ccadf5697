// malloc and its kin under the preloaded allocator: the C library's contract at every size, and where blocks
// come from.
#include <errno.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "test/heap/preloaded.hpp"

namespace {

using dunlin::heap::Face;

constexpr std::size_t kThreshold = 64 << 10;
constexpr std::size_t kMiB = std::size_t{1} << 20;

const Face& face() {
  static const Face* found = preloaded_heap();
  if (!found) std::abort();
  return *found;
}
bool is_ours(const void* block) { return face().owns(block); }

/// The compiler must not know what malloc returns, or it optimises the pair away.
template <class T>
T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}
char* get(std::size_t bytes) { return static_cast<char*>(opaque(std::malloc(bytes))); }

std::size_t file_bytes() {  // what the heap's file really occupies
  const auto& region = face().control()->regions[dunlin::heap::Control::kHeap];
  struct stat status{};
  return fstat(region.descriptor, &status) == 0 ? std::size_t(status.st_blocks) * 512 : 0;
}

TEST(Heap, IsInUse) { EXPECT_STREQ(face().why_not_malloc(), ""); }

TEST(Heap, LargeBlocksAreSharedSmallOnesAreNot) {
  char* small = get(kThreshold - 1);
  char* large = get(kThreshold);
  EXPECT_FALSE(is_ours(small));
  EXPECT_TRUE(is_ours(large));
  EXPECT_TRUE(face().is_shared(large, kThreshold));
  EXPECT_FALSE(face().is_shared(small, 1));
  std::free(small);
  std::free(large);
}

TEST(Heap, EveryDoorGivesSharedBlocks) {
  constexpr std::size_t kBytes = kMiB;
  void* posix = nullptr;
  EXPECT_EQ(posix_memalign(&posix, 2 * kMiB, kBytes), 0);
  auto* array = opaque(new double[kBytes / 8]);
  std::vector<int> vector(kBytes / 4);
  void* const blocks[] = {opaque(std::calloc(kBytes, 1)),
                          opaque(std::realloc(nullptr, kBytes)),
                          opaque(std::aligned_alloc(64, kBytes)),
                          opaque(memalign(kMiB, kBytes)),
                          opaque(valloc(kBytes)),
                          opaque(pvalloc(kBytes + 1)),
                          opaque(reallocarray(nullptr, kBytes, 2)),
                          posix};
  for (void* each : blocks) {
    EXPECT_TRUE(is_ours(each));
    std::free(each);
  }
  EXPECT_TRUE(is_ours(array));
  EXPECT_TRUE(is_ours(vector.data()));
  delete[] array;
}

TEST(Heap, AlignsAsAsked) {
  for (std::size_t alignment = 8; alignment <= 16 * kMiB; alignment *= 2)
    for (const std::size_t bytes : {std::size_t{1}, kThreshold, 3 * kMiB}) {
      void* block = nullptr;
      ASSERT_EQ(posix_memalign(&block, alignment, bytes), 0) << alignment;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u) << alignment;
      std::memset(block, 1, bytes);
      std::free(block);
    }
  void* untouched = &untouched;
  EXPECT_EQ(posix_memalign(&untouched, 24, kMiB), EINVAL);
  EXPECT_EQ(untouched, &untouched);
}

TEST(Heap, ImpossibleSizesGiveNullAndErrno) {
  volatile std::size_t huge = SIZE_MAX / 2 + 1;
  errno = 0;
  EXPECT_EQ(opaque(std::malloc(huge)), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(opaque(std::calloc(huge, 4)), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(opaque(reallocarray(nullptr, huge, 4)), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  char* block = get(kMiB);
  block[5] = 'x';
  char* again = opaque(block);  // the compiler warns of a use after realloc otherwise
  EXPECT_EQ(opaque(std::realloc(again, huge)), nullptr);
  EXPECT_EQ(block[5], 'x') << "a failed realloc leaves the block alone";
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX / 3 * 2 + (64 << 10)}) {
    volatile std::size_t most = bytes;
    errno = 0;
    EXPECT_EQ(opaque(std::realloc(opaque(block), most)), nullptr) << bytes;
    EXPECT_EQ(errno, ENOMEM);
  }
  std::free(block);
  void* none = nullptr;
  EXPECT_EQ(posix_memalign(&none, 64, huge), ENOMEM);
}

TEST(Heap, FreeKeepsErrno) {
  errno = 77;
  std::free(get(kMiB));
  std::free(get(100));
  std::free(nullptr);
  EXPECT_EQ(errno, 77);
}

TEST(Heap, CallocIsZeroAlsoInUsedPages) {
  for (const std::size_t bytes : {kThreshold, kMiB + 1, 20 * kMiB}) {
    char* dirty = get(bytes);
    std::memset(dirty, 0xff, bytes);
    std::free(dirty);
    char* zeroed = static_cast<char*>(opaque(std::calloc(1, bytes)));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes; ++i) wrong += zeroed[i] != 0;
    EXPECT_EQ(wrong, 0u) << bytes;
    std::free(zeroed);
  }
}

TEST(Heap, ReallocKeepsBytesAcrossEveryBorder) {
  std::mt19937 random(7);
  std::size_t bytes = 100;
  char* block = get(bytes);
  std::memset(block, 'a', bytes);
  for (int step = 0; step < 300; ++step) {
    const std::size_t wanted = 1 + random() % (step % 3 ? 2 * kThreshold : 6 * kMiB);
    block = static_cast<char*>(std::realloc(block, wanted));
    ASSERT_NE(block, nullptr);
    EXPECT_GE(malloc_usable_size(block), wanted);
    const std::size_t kept = std::min(bytes, wanted);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kept; ++i) wrong += block[i] != char('a' + step % 26);
    ASSERT_EQ(wrong, 0u) << "step " << step << " " << bytes << " -> " << wanted;
    bytes = wanted;
    std::memset(block, 'a' + (step + 1) % 26, bytes);
  }
  EXPECT_EQ(std::realloc(block, 0), nullptr);
}

TEST(Heap, GrowsInPlaceWhereItCan) {
  char* block = get(kMiB);
  const auto before = face().counters().blocks;
  for (std::size_t bytes = kMiB; bytes < 3 * kMiB; bytes += 64 << 10) {
    block = static_cast<char*>(opaque(std::realloc(block, bytes)));
    block[bytes - 1] = 1;
  }
  EXPECT_LE(face().counters().blocks - before, 2u) << "32 steps of growth moved the block again and again";
  std::free(block);
}

TEST(Heap, UsableSizeIsUsable) {
  char* block = get(kThreshold + 1);
  const std::size_t usable = malloc_usable_size(block);
  EXPECT_GE(usable, kThreshold + 1);
  std::memset(block, 1, usable);
  std::free(block);
  EXPECT_EQ(malloc_usable_size(nullptr), 0u);
}

TEST(Heap, HugeFreesGoBackToTheSystem) {
  const std::size_t before = file_bytes();
  constexpr std::size_t kBytes = 600 * kMiB;
  char* block = get(kBytes);
  for (std::size_t i = 0; i < kBytes; i += 4096) block[i] = 1;
  EXPECT_GE(file_bytes(), before + kBytes);
  std::free(block);
  EXPECT_LE(file_bytes(), before + 257 * kMiB) << "at most the cache of freed memory stays";
}

TEST(Heap, FreedBlocksOfAnyLengthGoBackAndAreTakenAgain) {
  constexpr std::size_t kBlocks = 100, kBytes = 6 * kMiB + 4096;  // a page of the fourth 2 MiB
  const std::size_t before = file_bytes();
  char* highest[6] = {};
  for (int time = 0; time < 6; ++time) {
    std::vector<char*> blocks;
    for (std::size_t i = 0; i < kBlocks; ++i) {
      blocks.push_back(get(kBytes));
      blocks[i][0] = blocks[i][kBytes - 1] = 1;
      highest[time] = std::max(highest[time], blocks[i]);
    }
    for (std::size_t i = 0; i < kBlocks; ++i)  // one after the other, or every third
      std::free(blocks[time < 3 ? i : i * 37 % kBlocks]);
    EXPECT_LE(file_bytes(), before + 256 * kMiB / 6 * 8 + 8 * kMiB) << "after " << time << " times";
  }
  EXPECT_LE(highest[5], highest[0]) << "freed room was not taken again";
}

TEST(Heap, LargeCallocIsNotCommitted) {
  const std::size_t before = file_bytes();
  void* block = opaque(std::calloc(1, 8192 * kMiB));
  ASSERT_NE(block, nullptr);
  EXPECT_LT(file_bytes(), before + 64 * kMiB);
  std::free(block);
}

TEST(Heap, BlocksThatNobodyTouchesTakeLittleMemory) {
  const char* percent = std::getenv("DUNLIN_HEAP_HUGE_PERCENT");
  if (!percent || std::strcmp(percent, "1") != 0) GTEST_SKIP() << "with 1 % it commits less";
  const std::size_t machine = std::size_t(sysconf(_SC_PHYS_PAGES)) * std::size_t(sysconf(_SC_PAGESIZE));
  const std::size_t most = machine / 100 / std::size_t(sysconf(_SC_NPROCESSORS_ONLN));
  const std::size_t before = file_bytes();
  for (int time = 0; time < 3; ++time) {  // what is freed may be committed again
    const std::size_t collapsed = face().counters().collapsed_bytes;
    std::vector<char*> blocks;
    for (std::size_t bytes = 0; bytes < 4 * most; bytes += 8 * kMiB) blocks.push_back(get(8 * kMiB));
    EXPECT_LE(file_bytes(), before + most);
    if (face().counters().collapsed_bytes == collapsed) GTEST_SKIP() << "no huge pages here";
    for (char* each : blocks) std::free(each);
  }
}

TEST(Heap, MoreThanTheArenaComesFromTheCLibrary) {
  char* block = get(std::size_t{40} << 30);
  if (!block) GTEST_SKIP() << "this machine does not overcommit";
  EXPECT_FALSE(is_ours(block));
  block[0] = 1;
  std::free(block);
}

TEST(Heap, ThreadsFreeEachOthersBlocks) {
  std::mutex lock;
  std::deque<std::pair<char*, std::size_t>> shared;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 6; ++id)
    threads.emplace_back([&, id] {
      std::mt19937 random(id);
      for (int step = 0; step < 1500; ++step) {
        const std::size_t bytes = 1 + random() % (random() % 4 ? 2 * kThreshold : 2 * kMiB);
        char* block = get(bytes);
        block[0] = block[bytes - 1] = char(bytes);
        std::pair<char*, std::size_t> other{nullptr, 0};
        {
          const std::lock_guard hold(lock);
          shared.emplace_back(block, bytes);
          if (shared.size() > 24) other = shared.front(), shared.pop_front();
        }
        if (!other.first) continue;
        wrong += other.first[0] != char(other.second) || other.first[other.second - 1] != char(other.second);
        std::free(other.first);
      }
    });
  for (auto& each : threads) each.join();
  for (auto& [block, bytes] : shared) std::free(block);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
