// What tests of forks share: blocks of one value, children, and a way for parent and child to wait for each
// other.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace dunlin::test {

constexpr std::size_t kMiB = std::size_t{1} << 20;
inline char static_data[kMiB];  // large enough to be moved

template <class T>
T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}
inline char* get(std::size_t bytes, int value) {
  char* block = static_cast<char*>(opaque(std::malloc(bytes)));
  std::memset(block, value, bytes);
  return block;
}
inline bool holds(const char* at, std::size_t bytes, char value) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (at[i] != value) return false;
  return true;
}

/// Runs `body` in a forked child; its exit status.
template <class F>
int in_child(F body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() { close(ends[0]), close(ends[1]); }
  void tell() { EXPECT_EQ(write(ends[1], "x", 1), 1); }
  void await() {
    char c = 0;
    while (read(ends[0], &c, 1) < 0) {
    }
  }
  int ends[2];
};

/// A child that looks at memory when its parent says so.
class Onlooker {
 public:
  template <class IsRight>
  explicit Onlooker(const IsRight& is_right) : child_(fork()) {
    if (child_ > 0) return;
    alarm(20);
    go_.await();
    _exit(is_right() ? 0 : 1);
  }
  Onlooker(const Onlooker&) = delete;
  bool finds_it_right() {
    int status = -1;
    go_.tell();
    return waitpid(child_, &status, 0) == child_ && status == 0;
  }

 private:
  Pipe go_;
  const pid_t child_;
};

/// Runs `body` in a child that lives on for longer than its parent waits.
template <class F>
int in_lasting_child(F body) {
  return in_child([&] {
    usleep(20000);
    return body();
  });
}

/// Runs a disabled test in a program of its own, whose heap it may spoil; its exit status.
inline int run_alone(const char* filter) {
  return execl("/proc/self/exe", "heap_tests", filter, "--gtest_also_run_disabled_tests", nullptr), 1;
}

}  // namespace dunlin::test
