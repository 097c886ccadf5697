// Memory to which others store at any moment stays in its pages over forks, and yet a child sees it as it was
// (heap::KeptPages).
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "test/heap/forks.hpp"
#include "test/heap/preloaded.hpp"

namespace {

using namespace dunlin::test;

/// What a network has pinned: the pages in which the program finds its bytes stay those that devices reach.
TEST(HeapFork, PagesStayWhereDevicesReachThem) {
  EXPECT_EQ(in_child([] { return run_alone("--gtest_filter=HeapForkPinned.*"); }), 0);
}

TEST(HeapForkPinned, DISABLED_WritesApartAndStaysShared) {
  constexpr std::size_t kBytes = 16 * kMiB;
  dunlin::heap::KeptPages all{0, SIZE_MAX};
  preloaded_heap()->keep(all);
  char* block = get(kBytes, 1);
  char* sparse = static_cast<char*>(std::calloc(1, 1024 * kMiB));
  std::memset(static_data, 1, sizeof static_data);
  Onlooker child([&] {
    const bool is_right = holds(block, kBytes, 1) && holds(static_data, sizeof static_data, 1) &&
                          holds(sparse + 512 * kMiB, kMiB, 0);
    std::memset(block, 3, kBytes);
    return is_right;
  });
  std::memset(block, 2, kBytes);
  std::memset(static_data, 2, sizeof static_data);
  EXPECT_TRUE(child.finds_it_right());
  EXPECT_TRUE(holds(block, kBytes, 2));
  EXPECT_TRUE(preloaded_heap()->is_shared(block, kBytes));
  EXPECT_TRUE(preloaded_heap()->is_shared(static_data, sizeof static_data));
  EXPECT_EQ(preloaded_heap()->counters().freezes, 0u);
  std::free(sparse);
  std::free(block);
}

/// What a peer has mapped of the heap.
class PeerView {
 public:
  PeerView() {
    const auto& heap = preloaded_heap()->control()->regions[dunlin::heap::Control::kHeap];
    base_ = heap.base;
    bytes_ = heap.bytes;
    constexpr int kFlags = MAP_SHARED | MAP_NORESERVE;
    void* const mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, kFlags, heap.descriptor, 0);
    mapped_ = mapped == MAP_FAILED ? nullptr : static_cast<char*>(mapped);
    madvise(mapped_, bytes_, MADV_DONTFORK);
  }
  ~PeerView() { munmap(mapped_, bytes_); }
  PeerView(const PeerView&) = delete;
  char* of(const char* block) const { return mapped_ + (reinterpret_cast<std::uintptr_t>(block) - base_); }

 private:
  std::uint64_t base_ = 0, bytes_ = 0;
  char* mapped_ = nullptr;
};

/// Peers go on to store to a block that is kept, over any number of forks, whatever becomes of the others.
TEST(HeapFork, WhatIsKeptStaysInItsPages) {
  constexpr std::size_t kBytes = 8 * kMiB;
  char* const early = get(kMiB, 5);
  EXPECT_EQ(in_lasting_child([&] { return holds(early, kMiB, 5) ? 0 : 1; }), 0);
  EXPECT_FALSE(preloaded_heap()->is_shared(early, 1)) << "frozen before it is kept, and private";
  char *const before = get(100000, 0), *const kept = get(kBytes, 0), *const behind = get(kBytes, 0);
  const PeerView peer;
  // Twice in the list, once from the middle of a page on, and with a piece that is nobody's.
  dunlin::heap::KeptPages lists[4] = {{reinterpret_cast<std::uintptr_t>(early), kMiB},
                                      {reinterpret_cast<std::uintptr_t>(kept) + 5000, 100},
                                      {reinterpret_cast<std::uintptr_t>(&peer), sizeof peer},
                                      {reinterpret_cast<std::uintptr_t>(kept) + 5000, kBytes - 5000}};
  for (auto& each : lists) preloaded_heap()->keep(each);
  std::vector<std::unique_ptr<Onlooker>> children;
  const auto all_hold = [&](char value) {
    return holds(kept, kBytes, value) && holds(behind, kBytes, value) && holds(before, 100000, value);
  };
  for (char time = 0; time < 3; ++time) {
    // Never those of the whole block.
    if (time > 0) preloaded_heap()->keep_no_more(lists[std::size_t(time - 1)]);
    children.push_back(std::make_unique<Onlooker>([&, time] {
      const bool is_right = all_hold(time) && holds(early, kMiB, time ? time : 5);
      std::memset(kept, 99, kBytes);
      std::memset(behind, 99, kBytes);
      return is_right;
    }));
    const char next = char(time + 1);
    EXPECT_FALSE(preloaded_heap()->is_shared(kept, 1)) << "who comes new finds it frozen";
    std::memset(kept, next, kBytes / 2);
    std::memset(peer.of(kept) + kBytes / 2, next, kBytes / 2);
    std::memset(behind, next, kBytes);
    std::memset(before, next, 100000);
    std::memset(early, next, kMiB);
    EXPECT_TRUE(all_hold(next));
    EXPECT_TRUE(holds(peer.of(kept), kBytes, next));
    EXPECT_FALSE(holds(peer.of(behind), kBytes, next));
    char* const fresh = get(kBytes, 7);
    EXPECT_TRUE(preloaded_heap()->is_shared(fresh, kBytes));
    std::free(fresh);
  }
  for (auto& child : children) EXPECT_TRUE(child->finds_it_right());
  EXPECT_TRUE(all_hold(3));
  for (auto& each : lists) preloaded_heap()->keep_no_more(each);  // no harm where it is not
  for (char* each : {early, before, kept, behind}) std::free(each);
  char* const again = get(kBytes, 1);
  EXPECT_TRUE(preloaded_heap()->is_shared(again, kBytes));
  EXPECT_EQ(in_lasting_child([&] { return holds(again, kBytes, 1) ? 0 : 1; }), 0);
  std::free(again);
}

/// Once a block is in nobody's list it is frozen like any other.
TEST(HeapFork, WhatIsKeptNoMoreIsFrozen) {
  char* const block = get(kMiB, 1);
  const PeerView peer;
  dunlin::heap::KeptPages list{reinterpret_cast<std::uintptr_t>(block), kMiB};
  preloaded_heap()->keep(list);
  EXPECT_EQ(in_lasting_child([&] { return holds(block, kMiB, 1) ? 0 : 1; }), 0);
  preloaded_heap()->keep_no_more(list);
  Onlooker child([&] { return holds(block, kMiB, 1); });
  std::memset(block, 2, kMiB);
  EXPECT_TRUE(holds(block, kMiB, 2));
  EXPECT_TRUE(holds(peer.of(block), kMiB, 1)) << "it is private";
  EXPECT_TRUE(child.finds_it_right());
  std::free(block);
}

/// A line of /proc/self/status, in MiB.
long status_mib(const char* name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name, 0) == 0) return std::atol(line.c_str() + std::strlen(name)) >> 10;
  return -1;
}

/// What was never written costs nobody memory, however often its owner forks.
TEST(HeapFork, HolesOfWhatIsKeptStayHoles) {
  char* const sparse = static_cast<char*>(opaque(std::calloc(1, 1024 * kMiB)));
  sparse[512 * kMiB] = 1;
  dunlin::heap::KeptPages list{reinterpret_cast<std::uintptr_t>(sparse), 1024 * kMiB};
  preloaded_heap()->keep(list);
  const long shared_before = status_mib("RssShmem:");
  const auto is_right = [&] { return status_mib("RssAnon:") < 256 && sparse[512 * kMiB] == 1; };
  for (int time = 0; time < 3; ++time) EXPECT_EQ(in_lasting_child([&] { return is_right() ? 0 : 1; }), 0);
  EXPECT_LT(status_mib("RssShmem:"), shared_before + 64);
  preloaded_heap()->keep_no_more(list);
  std::free(sparse);
}

/// More forks than files of earlier generations are kept: then the child copies everything.
TEST(HeapFork, KeepsABlockOfEachGeneration) {
  constexpr int kForks = 20;
  constexpr std::size_t kBytes = 128 << 10;
  std::vector<char*> blocks;
  std::vector<dunlin::heap::KeptPages> lists(kForks);
  for (int i = 0; i < kForks; ++i) {
    blocks.push_back(get(kBytes, i));
    lists[std::size_t(i)] = {reinterpret_cast<std::uintptr_t>(blocks.back()), kBytes};
    preloaded_heap()->keep(lists[std::size_t(i)]);
    const auto all_hold = [&] {
      for (int each = 0; each <= i; ++each)
        if (!holds(blocks[std::size_t(each)], kBytes, char(each))) return false;
      return true;
    };
    EXPECT_EQ(in_lasting_child([&] { return all_hold() ? 0 : 1; }), 0);
    EXPECT_TRUE(all_hold());
  }
  for (auto& each : lists) preloaded_heap()->keep_no_more(each);
  EXPECT_EQ(in_lasting_child([&] { return holds(blocks[0], kBytes, 0) ? 0 : 1; }), 0);
  for (char* each : blocks) std::free(each);
}

/// A coroutine forks: its stack is a block of the heap, kept or not, and the child runs on a copy of its own.
struct Coroutine {
  ucontext_t self, caller;
  int result = 1;
  static void run(unsigned low, unsigned high) {
    auto* const mine = reinterpret_cast<Coroutine*>(std::uintptr_t{high} << 32 | low);
    volatile int on_the_stack = 1;
    mine->result = 0;
    for (int time = 0; time < 4; ++time) {
      Pipe go;
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);
        if (time % 2) go.await();
        _exit(on_the_stack == 1 + time ? 0 : 1);
      }
      on_the_stack = on_the_stack + 1;
      go.tell();
      int status = -1;
      waitpid(child, &status, 0);
      mine->result |= status;
    }
    swapcontext(&mine->self, &mine->caller);
  }
};
void fork_on_a_stack_in_the_heap(bool is_kept) {
  constexpr std::size_t kBytes = 256 << 10;
  char *const stack = get(kBytes, 0), *const other = get(kBytes, 0);
  dunlin::heap::KeptPages lists[2] = {{reinterpret_cast<std::uintptr_t>(stack), kBytes},
                                      {reinterpret_cast<std::uintptr_t>(other), kBytes}};
  for (auto& each : lists)
    if (is_kept) preloaded_heap()->keep(each);
  Coroutine coroutine;
  getcontext(&coroutine.self);
  coroutine.self.uc_stack.ss_sp = stack;
  coroutine.self.uc_stack.ss_size = kBytes;
  const auto at = reinterpret_cast<std::uintptr_t>(&coroutine);
  makecontext(&coroutine.self, reinterpret_cast<void (*)()>(&Coroutine::run), 2, unsigned(at),
              unsigned(at >> 32));
  swapcontext(&coroutine.caller, &coroutine.self);
  EXPECT_EQ(coroutine.result, 0);
  for (auto& each : lists) preloaded_heap()->keep_no_more(each);
  std::free(stack);
  std::free(other);
}
TEST(HeapFork, ForksOnAStackInTheHeap) {
  fork_on_a_stack_in_the_heap(false);
  fork_on_a_stack_in_the_heap(true);
}

/// The same of static data; and a child that is gone at once freezes nothing.
TEST(HeapFork, KeptStaticDataStaysInItsPages) {
  EXPECT_EQ(in_child([] { return run_alone("--gtest_filter=HeapForkStatic.*"); }), 0);
}

TEST(HeapForkStatic, DISABLED_StaysInItsPages) {
  const auto& region = preloaded_heap()->control()->regions[dunlin::heap::Control::kStatic];
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  const std::size_t at = reinterpret_cast<std::uintptr_t>(static_data) - region.base + region.offset;
  char* const peer = static_cast<char*>(
      mmap(nullptr, at + sizeof static_data, kProtection, MAP_SHARED, region.descriptor, 0));
  ASSERT_NE(peer, MAP_FAILED);
  char* const block = get(kMiB, 1);
  dunlin::heap::KeptPages list{reinterpret_cast<std::uintptr_t>(static_data) + 100, 8};
  preloaded_heap()->keep(list);
  std::memset(static_data, 1, sizeof static_data);
  EXPECT_EQ(in_child([] { return holds(static_data, sizeof static_data, 1) ? 0 : 1; }), 0);
  for (char time = 1; time < 3; ++time) {
    Onlooker child([&] { return holds(static_data, sizeof static_data, time) && holds(block, kMiB, time); });
    std::memset(static_data, time + 1, sizeof static_data / 2);
    std::memset(peer + at + sizeof static_data / 2, time + 1, sizeof static_data / 2);
    std::memset(block, time + 1, kMiB);
    EXPECT_TRUE(holds(static_data, sizeof static_data, char(time + 1)));
    EXPECT_TRUE(holds(peer + at, sizeof static_data, char(time + 1)));
    EXPECT_TRUE(child.finds_it_right());
  }
  preloaded_heap()->keep_no_more(list);
  std::free(block);
}

}  // namespace
