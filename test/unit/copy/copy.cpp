// The copy kernels at every length and alignment that takes another way, and the shared copy between two
// threads.
#include "copy/copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "copy/kernels.hpp"
#include "os/cpu.hpp"

namespace dunlin::copy {
namespace {

std::vector<std::byte> noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> made(bytes);
  for (std::byte& each : made) each = std::byte(random());
  return made;
}

/// Copies with guards around the destination; false when a byte is wrong or a guard was touched.
template <class F>
bool copies(F copy_bytes, std::size_t bytes, std::size_t from_offset, std::size_t to_offset) {
  const auto from = noise(bytes + 128, unsigned(bytes));
  std::vector<std::byte> to(bytes + 256, std::byte{0x5a});
  copy_bytes(to.data() + 64 + to_offset, from.data() + from_offset, bytes);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const bool is_inside = i >= 64 + to_offset && i < 64 + to_offset + bytes;
    if (to[i] != (is_inside ? from[i - 64 - to_offset + from_offset] : std::byte{0x5a})) return false;
  }
  return true;
}

TEST(Copy, EveryKernelAtEveryShortLength) {
  const Kernels kernels = detect_kernels();
  for (const Kernel kernel : {kernels.lines, kernels.streaming})
    for (std::size_t bytes = 0; bytes < 700; ++bytes)
      ASSERT_TRUE(copies(kernel, bytes, bytes % 7, bytes % 61)) << bytes;
}

TEST(Copy, EveryAlignment) {
  const Kernels kernels = detect_kernels();
  for (const Kernel kernel : {kernels.lines, kernels.streaming})
    for (std::size_t from = 0; from < 64; from += 3)
      for (std::size_t to = 0; to < 64; ++to) ASSERT_TRUE(copies(kernel, 1111, from, to));
}

TEST(Copy, LargeOnesByBothHints) {
  for (const std::size_t bytes : {4095, 4096, 32768, 100001, 5 << 20})
    for (const Hint hint : {Hint::cached, Hint::off_cache})
      EXPECT_TRUE(
          copies([&](std::byte* to, const std::byte* from, std::size_t n) { copy::bytes(to, from, n, hint); },
                 bytes, 1, 2));
}

TEST(Copy, TheHintFollowsTheSize) {
  EXPECT_EQ(hint_for(1), Hint::cached);
  EXPECT_EQ(hint_for(stream_bytes_min()), Hint::off_cache);
}

/// A peer's buffer, in small pages that exist, seen through a mapping that was never used.
TEST(Copy, StoresIntoAFreshMappingTakeOneFaultAWindow) {
  constexpr std::size_t kBytes = 1 << 20, kWindow = 64 << 10;
  const int file = memfd_create("peer", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  void* owners = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* ours = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(owners, MAP_FAILED);
  ASSERT_NE(ours, MAP_FAILED);
  // A sanitizer's shadow takes its faults here; it does not see the system call.
  std::memset(ours, 0, kBytes);
  const long mapped =
      syscall(SYS_mmap, ours, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0L);
  ASSERT_EQ(mapped, long(reinterpret_cast<std::uintptr_t>(ours)));
  close(file);
  std::memset(owners, 1, kBytes);
  const auto from = noise(kBytes, 7);
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
  };
  const long before = faults();
  load_before_stores(static_cast<const std::byte*>(ours), kBytes);
  bytes(static_cast<std::byte*>(ours), from.data(), kBytes);
  EXPECT_LE(faults() - before, long(2 * kBytes / kWindow));  // one a page without the load: 256
  EXPECT_EQ(std::memcmp(owners, from.data(), kBytes), 0);
  munmap(owners, kBytes);
  munmap(ours, kBytes);
}

/// Its lines are stored to, the bytes stay, and nothing beside the range is touched.
TEST(Copy, TakingOverStoresWhatIsThere) {
  constexpr std::size_t kPage = 4096, kPages = 6;
  const int file = memfd_create("peer", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kPages * kPage), 0);
  const auto data = noise(kPages * kPage, 11);
  ASSERT_EQ(pwrite(file, data.data(), data.size(), 0), long(data.size()));
  // Private, so that the first store to a page gives it a copy of its own, at another place.
  void* const mapped = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  close(file);
  auto* const at = static_cast<std::byte*>(mapped);
  ASSERT_EQ(mprotect(at, kPage, PROT_READ), 0);
  ASSERT_EQ(mprotect(at + 5 * kPage, kPage, PROT_READ), 0);
  EXPECT_EQ(std::memcmp(at, data.data(), data.size()), 0);
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
  };
  const long before = faults();
  take_over(at + kPage, 0);
  take_over(at + kPage, 1);
  take_over(at + kPage, kPage);
  take_over(at + 3 * kPage - 1, 2);    // the last byte of a page and the first of the next one
  take_over(at + 5 * kPage - 65, 65);  // the last lines
  EXPECT_EQ(faults() - before, 4);     // pages 1 to 4, a copy each
  EXPECT_EQ(std::memcmp(at, data.data(), data.size()), 0);
  EXPECT_FALSE(takes_over(SIZE_MAX));
  munmap(mapped, kPages * kPage);
}

/// As long as it fits a cache that the two do not share: of far ranks the last one.
TEST(Copy, MoreIsTakenOverBetweenFarRanks) {
  if (!takes_over(1)) GTEST_SKIP() << "readers take nothing over here";
  const std::size_t second = os::cache_bytes(2), last = os::cache_bytes(3);
  if (last <= second) GTEST_SKIP() << "the system names no cache of third level";
  EXPECT_TRUE(takes_over(second / 2));
  EXPECT_FALSE(takes_over(second / 2 + 1));
  EXPECT_TRUE(takes_over(second / 2 + 1, true));
  EXPECT_TRUE(takes_over(last / 2, true));
  EXPECT_FALSE(takes_over(last / 2 + 1, true));
}

/// Its lines may be gone; and there are no more of them than a cache holds.
TEST(Copy, TakingBackTouchesNothing) {
  constexpr std::size_t kPage = 4096;
  void* const mapped = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto* const at = static_cast<const std::byte*>(mapped);
  EXPECT_TRUE(LinesToTakeBack().is_empty());
  EXPECT_TRUE(LinesToTakeBack({at, SIZE_MAX}).is_empty());
  for (const std::size_t bytes : {1u, 64u, 65u, 4095u}) {
    LinesToTakeBack lines({at + 1, bytes});
    std::size_t steps = 0;
    for (; !lines.is_empty(); ++steps) lines.take_some();
    // A few lines a step, and none at all where readers take lines over, or the system names no cache.
    EXPECT_LE(steps, (bytes + 63) / 64);
    if (!takes_over(bytes) && os::cache_bytes(2) >= 2 * kPage) {
      EXPECT_GE(steps, (bytes + 1023) / 1024);
    }
  }
  munmap(mapped, kPage);
}

}  // namespace
}  // namespace dunlin::copy
