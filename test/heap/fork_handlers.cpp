// Forks in signal handlers, and handlers that run beside forks.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "test/heap/forks.hpp"
#include "test/heap/preloaded.hpp"

extern char** environ;

namespace {

using namespace dunlin::test;

volatile std::sig_atomic_t handler_forks, handler_refusals;
void fork_in_handler(int) {
  const int saved_errno = errno;
  const pid_t child = handler_forks % 2 ? fork() : _Fork();
  if (child == 0) _exit(0);
  if (child > 0)
    waitpid(child, nullptr, 0);
  else
    handler_refusals = handler_refusals + (errno == EAGAIN);
  handler_forks = handler_forks + 1;
  errno = saved_errno;
}

/// A signal handler that has interrupted malloc or free in its own thread is refused, and never waits.
/// Alone: with threads the C library's `fork` waits for the C library's malloc.
TEST(HeapFork, SignalHandlersForkAtAnyMoment) {
  EXPECT_EQ(in_child([] { return run_alone("--gtest_filter=HeapForkInterrupted.*"); }), 0);
}

TEST(HeapForkInterrupted, DISABLED_IsRefusedOrForks) {
  constexpr int kForks = 400;
  handler_forks = 0;
  handler_refusals = 0;
  const auto old = std::signal(SIGALRM, fork_in_handler);
  for (int i = 0; i < kForks; ++i) {
    const itimerval soon = {{0, 0}, {0, 1 + i * 7 % 97}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    while (handler_forks == i) {
      char* block = get(4 * kMiB, i);
      if (i % 3 == 0) {
        EXPECT_EQ(in_child([&] { return holds(block, 4 * kMiB, char(i)) ? 0 : 1; }), 0);
      }
      std::free(block);
    }
  }
  std::signal(SIGALRM, old);
  std::printf("%d of %d refused\n", int(handler_refusals), kForks);
  EXPECT_LT(handler_refusals, kForks);
}

/// A handler that calls `_Fork` does not wait for the thread whose fork waits for the malloc that the handler
/// has interrupted.
TEST(HeapFork, HandlersForkBesideForks) {
  std::atomic<bool> stops{false};
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  const auto old = std::signal(SIGALRM, [](int) {
    const int saved_errno = errno;
    const pid_t child = _Fork();
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, nullptr, 0);
    errno = saved_errno;
  });
  std::thread other([&] {
    while (!stops.load(std::memory_order_relaxed)) {
      void* blocks[32];
      for (std::size_t i = 0; i < 32; ++i) blocks[i] = opaque(std::malloc(3000 + i * 64));
      for (void* each : blocks) std::free(each);
    }
  });
  pthread_sigmask(SIG_BLOCK, &alarms, nullptr);
  for (int i = 0; i < 1000; ++i) {
    pthread_kill(other.native_handle(), SIGALRM);
    EXPECT_EQ(in_child([] { return 0; }), 0);
  }
  stops.store(true, std::memory_order_relaxed);
  other.join();
  pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
  std::signal(SIGALRM, old);
}

/// What signal handlers store beside a fork, the other process does not see: the child copies for
/// milliseconds.
TEST(HeapFork, HandlersOfParentAndChildWriteApart) {
  constexpr std::size_t kBytes = 16 * kMiB;
  static volatile long* handled;  // of each process; behind it the parent's, which both see
  static volatile long* of_parent;
  static pid_t parent;
  char* const kept = get(kBytes, 0);
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  handled = reinterpret_cast<long*>(kept + kBytes / 2);
  of_parent = static_cast<long*>(page);
  parent = getpid();
  dunlin::heap::KeptPages list = {reinterpret_cast<std::uintptr_t>(kept), kBytes};
  preloaded_heap()->keep(list);
  const pid_t group = getpgrp();
  const std::string loop = "trap '' USR1; while kill -USR1 -" + std::to_string(parent) + "; do :; done";
  const char* const words[] = {"sh", "-c", loop.c_str(), nullptr};
  ASSERT_EQ(setpgid(0, 0), 0);
  const auto old = std::signal(SIGUSR1, [](int) {
    *handled = *handled + 1;
    if (getpid() == parent) *of_parent = *of_parent + 1;
  });
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pid_t sender = -1;
  auto* const arguments = const_cast<char**>(words);
  ASSERT_EQ(posix_spawn(&sender, "/bin/sh", nullptr, nullptr, arguments, environ), 0);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(in_child([] { return 0; }), 0);
    pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
    EXPECT_EQ(*handled, *of_parent);
    pthread_sigmask(SIG_UNBLOCK, &usr1, nullptr);
  }
  kill(sender, SIGKILL);
  waitpid(sender, nullptr, 0);
  std::signal(SIGUSR1, old);
  setpgid(0, group);
  preloaded_heap()->keep_no_more(list);
  std::free(kept);
  munmap(page, 4096);
}

/// `fork` is no place where a thread can be cancelled, whatever we call in it.
TEST(HeapFork, IsNotCancelled) {
  static std::atomic<int> done;
  done.store(0);
  std::free(get(kMiB, 1));
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr,
                           [](void*) -> void* {
                             pthread_cancel(pthread_self());
                             const pid_t child = fork();
                             if (child == 0) _exit(0);
                             done.store(child);
                             pthread_testcancel();
                             return nullptr;
                           },
                           nullptr),
            0);
  void* result = nullptr;
  pthread_join(thread, &result);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(waitpid(done.load(), nullptr, 0), done.load());
  std::free(get(kMiB, 2));  // hangs where the lock is held
}

}  // namespace
