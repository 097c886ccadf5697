// Forks under the preloaded allocator: a child never sees its parent's later writes, nor the parent the
// child's, in heap blocks and in static data, whatever comes after the fork.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "test/heap/forks.hpp"
#include "test/heap/preloaded.hpp"

extern char** environ;

namespace {

using namespace dunlin::test;

bool makes_huge_pages() {
  const char* limit = std::getenv("DUNLIN_HEAP_HUGE_PERCENT");
  std::free(get(8 * kMiB, 0));
  return !(limit && std::strcmp(limit, "0") == 0) && preloaded_heap()->counters().collapsed_bytes > 0;
}

TEST(HeapFork, StaticDataIsShared) {
  EXPECT_TRUE(preloaded_heap()->is_shared(static_data, sizeof static_data));
}

/// Peers of a program with much static data must not fault on each of its small pages.
TEST(HeapFork, StaticDataLiesInHugePages) {
  if (!makes_huge_pages()) GTEST_SKIP() << "no huge pages here";
  const auto& region = preloaded_heap()->control()->regions[dunlin::heap::Control::kStatic];
  struct stat status {};
  ASSERT_EQ(fstat(region.descriptor, &status), 0);
  EXPECT_EQ(std::size_t(status.st_blocks) * 512, std::size_t(status.st_size))
      << "as large as when all is touched";
}

/// What is left of the old generation in a huge page's range must not end the use of huge pages for good.
TEST(HeapFork, BlocksHaveNoPagesYetWhileCommitsAreLate) {
  if (!makes_huge_pages()) GTEST_SKIP() << "no huge pages here";
  const auto before = preloaded_heap()->counters().collapsed_bytes;
  void* late[20];  // more than what the heap keeps of freed blocks, which may have been huge before
  preloaded_heap()->commit_late(true);
  for (void*& each : late) each = opaque(std::malloc(16 * kMiB));
  preloaded_heap()->commit_late(false);
  EXPECT_EQ(preloaded_heap()->counters().collapsed_bytes, before);
  void* const other = opaque(std::malloc(16 * kMiB));
  EXPECT_GE(preloaded_heap()->counters().collapsed_bytes, before + 16 * kMiB);
  std::free(other);
  for (void* each : late) std::free(each);
}

TEST(HeapFork, HugePagesGoOnAfterAFreeze) {
  if (!makes_huge_pages()) GTEST_SKIP() << "no huge pages here";
  char* small[40];
  for (char*& each : small) each = get(100 << 10, 1);
  for (int i = 0; i < 40; i += 2) std::free(small[i]);
  Pipe end;
  const pid_t child = fork();
  if (child == 0) {
    end.await();
    _exit(0);
  }
  ASSERT_FALSE(preloaded_heap()->is_shared(small[1], 1)) << "the child lives, so the parent froze";
  char* between[20];  // these lie between frozen blocks
  for (char*& each : between) each = get(90 << 10, 2);
  const auto before = preloaded_heap()->counters().collapsed_bytes;
  char* large = get(16 * kMiB, 3);
  EXPECT_GE(preloaded_heap()->counters().collapsed_bytes, before + 16 * kMiB);
  std::free(large);
  for (char* each : between) std::free(each);
  for (int i = 1; i < 40; i += 2) std::free(small[i]);
  end.tell();
  waitpid(child, nullptr, 0);
}

TEST(HeapFork, WhatWasFreedGoesBackAlsoWhereABlockIsLeft) {
  char* blocks[16];
  for (char*& each : blocks) each = get(8 * kMiB, 1);
  char* const left = get(100000, 2);
  for (char* each : blocks) std::free(each);
  // The file as it is now lasts as long as the block.
  const int file = dup(preloaded_heap()->control()->regions[dunlin::heap::Control::kHeap].descriptor);
  EXPECT_EQ(in_lasting_child([&] { return !holds(left, 100000, 2); }), 0);
  ASSERT_FALSE(preloaded_heap()->is_shared(left, 1)) << "the child lived, so the parent froze";
  struct stat status = {};
  EXPECT_EQ(fstat(file, &status), 0);
  EXPECT_LT(std::size_t(status.st_blocks) * 512, 32 * kMiB);
  EXPECT_TRUE(holds(left, 100000, 2));
  close(file);
  std::free(left);
}

TEST(HeapFork, TheLimitOfHugePagesCountsThoseBefore) {
  const char* percent = std::getenv("DUNLIN_HEAP_HUGE_PERCENT");
  if (!percent || std::strcmp(percent, "1") != 0) GTEST_SKIP() << "with 1 % it commits less";
  if (!makes_huge_pages()) GTEST_SKIP() << "no huge pages here";
  const std::size_t machine = std::size_t(sysconf(_SC_PHYS_PAGES)) * std::size_t(sysconf(_SC_PAGESIZE));
  const std::size_t most = machine / 100 / std::size_t(sysconf(_SC_NPROCESSORS_ONLN));
  const auto made = [] { return preloaded_heap()->counters().collapsed_bytes; };
  std::vector<char*> blocks;
  for (int again = 0; again < 3; ++again) {
    const std::size_t begin = made();
    for (int time = 0; time < 3; ++time) {
      for (std::size_t bytes = 0; bytes < 2 * most; bytes += 8 * kMiB)
        blocks.push_back(static_cast<char*>(opaque(std::malloc(8 * kMiB))));
      EXPECT_EQ(in_lasting_child([] { return 0; }), 0);
    }
    EXPECT_LE(made() - begin, most);
    EXPECT_GE(made() - begin, most / 2) << "what was freed counts for ever";
    for (char* each : blocks) std::free(each);
    blocks.clear();
  }
}

TEST(HeapFork, ParentAndChildWriteApart) {
  constexpr std::size_t kBytes = 16 * kMiB;
  char* block = get(kBytes, 1);
  std::memset(static_data, 1, sizeof static_data);
  Pipe to_child;
  Pipe to_parent;
  const pid_t child = fork();
  if (child == 0) {
    to_child.await();  // the parent has written 2 everywhere
    bool is_right = holds(block, kBytes, 1) && holds(static_data, sizeof static_data, 1);
    std::memset(block, 3, kBytes);
    std::memset(static_data, 3, sizeof static_data);
    to_parent.tell();
    to_child.await();  // and 4
    is_right = is_right && holds(block, kBytes, 3) && holds(static_data, sizeof static_data, 3);
    std::free(block);
    std::free(get(2 * kMiB, 9));
    _exit(is_right ? 0 : 1);
  }
  std::memset(block, 2, kBytes);
  std::memset(static_data, 2, sizeof static_data);
  to_child.tell();
  to_parent.await();
  EXPECT_TRUE(holds(block, kBytes, 2));
  EXPECT_TRUE(holds(static_data, sizeof static_data, 2));
  std::memset(block, 4, kBytes);
  std::memset(static_data, 4, sizeof static_data);
  char* fresh = get(2 * kMiB, 5);
  to_child.tell();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(holds(block, kBytes, 4));
  EXPECT_TRUE(holds(static_data, sizeof static_data, 4));
  EXPECT_TRUE(holds(fresh, 2 * kMiB, 5));
  EXPECT_FALSE(preloaded_heap()->is_shared(block, kBytes)) << "frozen, as the child lived on";
  EXPECT_TRUE(preloaded_heap()->is_shared(fresh, 2 * kMiB)) << "of the new generation";
  std::free(block);
  std::free(fresh);
  block = get(kBytes, 6);
  EXPECT_TRUE(preloaded_heap()->is_shared(block, kBytes)) << "freed and taken again";
  std::free(block);
}

TEST(HeapFork, ExecKeepsBlocksShared) {
  char* block = get(4 * kMiB, 1);
  if (std::getenv("DUNLIN_HEAP_FORK_WAIT_US")) GTEST_SKIP() << "this run never waits";
  bool is_shared = false;
  for (int attempt = 0; attempt < 300 && !is_shared; ++attempt) {  // a busy machine may need many
    std::free(block);
    block = get(4 * kMiB, 1);
    EXPECT_EQ(in_child([] { return execl("/bin/true", "true", nullptr), 1; }), 0);
    is_shared = preloaded_heap()->is_shared(block, 4 * kMiB);
  }
  EXPECT_TRUE(is_shared);
  std::free(block);
}

TEST(HeapFork, SpawnAndSystemKeepBlocksShared) {
  char* block = get(4 * kMiB, 1);
  pid_t child = -1;
  char* arguments[] = {const_cast<char*>("true"), nullptr};
  ASSERT_EQ(posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments, environ), 0);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(std::system("exit 3") >> 8, 3);
  EXPECT_TRUE(preloaded_heap()->is_shared(block, 4 * kMiB));
  child = vfork();
  if (child == 0) _exit(4);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status >> 8, 4);
  EXPECT_TRUE(preloaded_heap()->is_shared(block, 4 * kMiB));
  std::free(block);
}

TEST(HeapFork, ChildrenOfChildren) {
  char* block = get(2 * kMiB, 1);
  EXPECT_EQ(in_child([&] {
              std::memset(block, 2, 2 * kMiB);
              const int status = in_child([&] {
                const bool is_right = holds(block, 2 * kMiB, 2);
                std::memset(block, 3, 2 * kMiB);
                return is_right ? 0 : 1;
              });
              return status == 0 && holds(block, 2 * kMiB, 2) ? 0 : 1;
            }),
            0);
  EXPECT_TRUE(holds(block, 2 * kMiB, 1));
  std::free(block);
}

/// A child that makes a child of its own and is gone at once leaves somebody with its view (shells do it all
/// the time).  `leave` runs in the child, with what whoever stays has to do.
template <class F>
void expect_view_kept(F leave) {
  constexpr std::size_t kBytes = 4 * kMiB;
  for (int round = 0; round < 10; ++round) {
    char* block = get(kBytes, 1);
    std::memset(static_data, 1, sizeof static_data);
    Pipe to_grandchild;
    Pipe to_parent;
    const pid_t child = fork();
    if (child == 0)
      leave([&] {
        to_grandchild.await();
        const bool is_right = holds(block, kBytes, 1) && holds(static_data, sizeof static_data, 1);
        const char verdict = is_right ? 'y' : 'n';
        _exit(write(to_parent.ends[1], &verdict, 1) == 1 ? 0 : 1);
      });
    std::memset(block, 2, kBytes);
    std::memset(static_data, 2, sizeof static_data);
    to_grandchild.tell();
    char verdict = 0;
    EXPECT_EQ(read(to_parent.ends[0], &verdict, 1), 1);
    EXPECT_EQ(verdict, 'y') << round;
    waitpid(child, nullptr, 0);
    std::free(block);
  }
}

TEST(HeapFork, GrandchildKeepsItsViewWhenTheChildExits) {
  expect_view_kept([](auto stay) {
    if (fork() != 0) _exit(0);
    stay();
  });
}

TEST(HeapFork, GrandchildWithoutHandlersKeepsItsView) {
  expect_view_kept([](auto stay) {
    if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) != 0) _exit(0);
    stay();
  });
}

TEST(HeapFork, ChildWhoseFirstThreadEndsKeepsItsView) {
  expect_view_kept([](auto stay) {
    std::thread(stay).detach();
    syscall(SYS_exit, 0);  // of this thread only
  });
}

/// `_Fork` runs no handlers.
TEST(HeapFork, ForkWithoutHandlersWritesApart) {
  char* block = get(kMiB, 1);
  std::memset(static_data, 1, sizeof static_data);
  Pipe to_child;
  const pid_t child = _Fork();
  if (child == 0) {
    to_child.await();
    const bool is_right = holds(block, kMiB, 1) && holds(static_data, sizeof static_data, 1);
    std::memset(block, 3, kMiB);
    std::memset(static_data, 3, sizeof static_data);
    _exit(is_right ? 0 : 1);
  }
  std::memset(block, 2, kMiB);
  std::memset(static_data, 2, sizeof static_data);
  to_child.tell();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(holds(block, kMiB, 2));
  EXPECT_TRUE(holds(static_data, sizeof static_data, 2));
  std::free(block);
}

/// A child with threads, whose own children find no lock taken.
TEST(HeapFork, GrandchildrenReallocate) {
  char* blocks[] = {get(kMiB, 1), get(kMiB, 2)};
  const int status = in_child([&] {
    std::thread([&] {
      for (;;) blocks[0] = static_cast<char*>(opaque(std::realloc(blocks[0], kMiB - 100)));
    }).detach();
    for (int i = 0; i < 500; ++i) {
      const int of_child = in_child([&] {
        alarm(5);
        blocks[1] = static_cast<char*>(opaque(std::realloc(blocks[1], kMiB - 200)));
        return holds(blocks[1], kMiB - 200, 2) ? 0 : 1;
      });
      if (of_child != 0) return 1;
    }
    return 0;
  });
  EXPECT_EQ(status, 0);
  for (char* each : blocks) std::free(each);
}

TEST(HeapFork, ManyForksWithManyBlocks) {
  char* blocks[64] = {};
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 64; ++i) {
      if (blocks[i] && (i + round) % 3 == 0) std::free(blocks[i]), blocks[i] = nullptr;
      if (!blocks[i]) blocks[i] = get((64 << 10) + i * 5000, i);
    }
    const int status = in_child([&] {
      for (int i = 0; i < 64; ++i) {
        if (!holds(blocks[i], (64 << 10) + i * 5000, char(i))) return 1;
        std::memset(blocks[i], 99, 64 << 10);
        if (i % 2) std::free(blocks[i]);
      }
      return 0;
    });
    ASSERT_EQ(status, 0) << round;
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(holds(blocks[i], (64 << 10) + i * 5000, char(i))) << round;
  }
  for (char* each : blocks) std::free(each);
}

TEST(HeapFork, ChildAllocatesFromTheCLibrary) {
  EXPECT_EQ(in_child([] {
              char* block = get(2 * kMiB, 1);
              const bool is_ours = preloaded_heap()->owns(block);
              block = static_cast<char*>(std::realloc(block, 3 * kMiB));
              std::free(block);
              return is_ours ? 1 : 0;
            }),
            0);
}

TEST(HeapFork, ChildReallocatesBlocksOfItsParent) {
  char* block = get(2 * kMiB, 7);
  EXPECT_EQ(in_child([&] {
              char* grown = static_cast<char*>(std::realloc(block, 5 * kMiB));
              const bool is_right = grown && holds(grown, 2 * kMiB, 7);
              std::free(grown);
              return is_right ? 0 : 1;
            }),
            0);
  EXPECT_TRUE(holds(block, 2 * kMiB, 7));
  std::free(block);
}

/// Every page holds a counter that one thread raises round by round: the child's view must be one moment's.
TEST(HeapFork, SnapshotIsOneMomentAlsoWithThreads) {
  constexpr std::size_t kBytes = 8 * kMiB;
  constexpr std::size_t kStep = 4096;
  char* block = get(kBytes, 0);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (long round = 1; !stop; ++round)
      for (std::size_t i = 0; i < kBytes; i += kStep) *reinterpret_cast<volatile long*>(block + i) = round;
  });
  for (int attempt = 0; attempt < 5; ++attempt) {
    const int status = in_child([&] {
      const auto at = [&](std::size_t i) { return *reinterpret_cast<volatile long*>(block + i); };
      long sum = 0;
      bool is_one_moment = true;
      for (std::size_t i = kStep; i < kBytes; i += kStep) {
        is_one_moment = is_one_moment && (at(i) == at(0) || at(i) + 1 == at(0)) && at(i) <= at(i - kStep);
        sum += at(i);
      }
      usleep(20000);
      for (std::size_t i = kStep; i < kBytes; i += kStep) sum -= at(i);
      return is_one_moment && sum == 0 ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
  }
  stop = true;
  writer.join();
  std::free(block);
}

/// clone without the handlers of fork: the child must not reach the parent's live heap.
TEST(HeapFork, RawCloneDoesNotShareTheHeap) {
  char* block = get(kMiB, 1);
  const auto child = pid_t(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    block[0] = 9;
    syscall(SYS_exit_group, 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  EXPECT_EQ(block[0], 1);
  std::free(block);
}

/// A fork that the kernel refuses runs the parent's handler too.
TEST(HeapFork, SurvivesARefusedFork) {
  EXPECT_EQ(in_child([] {
              // The limit on processes spares root and needs a user who may not search the folder of the
              // preloaded library: an open file needs no search.
              const int library = open(std::getenv("LD_PRELOAD"), O_RDONLY);
              const std::string path = "/proc/self/fd/" + std::to_string(library);
              if (library < 0 || setenv("LD_PRELOAD", path.c_str(), 1) != 0) return 1;
              if (geteuid() == 0 && setuid(65534) != 0) return 1;
              return run_alone("--gtest_filter=HeapForkRefused.*");
            }),
            0);
}

/// A limit on the size of files kills who makes a larger one.
TEST(HeapFork, SurvivesALimitOnFiles) {
  EXPECT_EQ(in_child([] { return run_alone("--gtest_filter=HeapForkLimited.*"); }), 0);
}

TEST(HeapForkLimited, DISABLED_KeepsItsBlocks) {
  char* block = get(kMiB, 1);
  const rlimit small{kMiB, kMiB};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Pipe to_child;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // the parent may be killed
    to_child.await();
    _exit(holds(block, kMiB, 1) ? 0 : 1);
  }
  std::memset(block, 2, kMiB);
  to_child.tell();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(holds(block, kMiB, 2));
  char* fresh = get(kMiB, 3);
  EXPECT_FALSE(preloaded_heap()->is_shared(fresh, kMiB)) << "there is no file for it";
  EXPECT_EQ(in_child([&] { return !holds(block, kMiB, 2); }), 0) << "a later child has them, too";
  EXPECT_EQ(in_child([&] {
              char* const own = get(16 * kMiB, 4);  // where what was not inherited of the heap has lain
              const bool is_ours = preloaded_heap()->owns(own);
              std::free(own);
              return is_ours || !holds(block, kMiB, 2);
            }),
            0)
      << "a later child has blocks of its own";
  std::free(block);
  std::free(fresh);
}

TEST(HeapFork, SurvivesAFullHeap) {
  EXPECT_EQ(in_child([] {
              return setenv("DUNLIN_HEAP_ADDRESS_BYTES", "64m", 1) == 0
                         ? run_alone("--gtest_filter=HeapForkFull.*")
                         : 1;
            }),
            0);
}

TEST(HeapForkFull, DISABLED_StaysShared) {
  std::vector<char*> blocks;
  do blocks.push_back(get(64 << 10, 1));
  while (preloaded_heap()->owns(blocks.back()));
  char*& last = blocks[blocks.size() - 2];  // behind it some pages are free, which are too few
  last = static_cast<char*>(opaque(std::realloc(last, 31 * 4096)));
  ASSERT_TRUE(preloaded_heap()->owns(last));
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(in_lasting_child([&] { return !holds(blocks[0], 64 << 10, 1); }), 0);
  for (char* each : blocks) std::free(each);
  char* const fresh = get(kMiB, 3);
  EXPECT_TRUE(preloaded_heap()->is_shared(fresh, kMiB));
  std::free(fresh);
}

/// A program that closes what it did not open, and gets the heap's numbers for its own files: its forks end
/// with a sentence.
TEST(HeapFork, AFileOfTheProgramIsNotTakenForTheHeap) {
  const int status = in_child([] { return run_alone("--gtest_filter=HeapForkForeign.*"); });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
}

TEST(HeapForkForeign, DISABLED_SeesItsOwnBytesOrEnds) {
  char* block = get(kMiB, 1);
  const int own = memfd_create("program", 0);
  ASSERT_EQ(ftruncate(own, off_t(64 * kMiB)), 0);
  for (int number = 100; number < 2000; ++number)
    if (close(number) == 0) dup2(own, number);
  const int status = in_child([&] { return holds(block, kMiB, 1) ? 0 : 1; });
  // A fork that waits leaves it to the child.
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) std::abort();
  EXPECT_EQ(status, 0);
}

TEST(HeapForkRefused, DISABLED_KeepsTheHeap) {
  char* block = get(kMiB, 1);
  const rlimit none{0, 0};
  ASSERT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
  ASSERT_EQ(fork(), -1);
  std::memset(block, 2, kMiB);
  EXPECT_TRUE(holds(block, kMiB, 2));
  char* fresh = get(kMiB, 3);
  EXPECT_TRUE(preloaded_heap()->is_shared(fresh, kMiB));
  std::free(block);
  std::free(fresh);
}

}  // namespace
