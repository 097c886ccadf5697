#include "base/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "base/variable.hpp"

namespace dunlin::log {
namespace {

IntVariable verbose{"VERBOSE", 0, "",
                    "print notes of the library to standard error: 0 none, 1 what happens at start"};
void (*end_of_job)() noexcept = nullptr;  // set once at start
std::atomic<int> shown_rank{-1};  // relaxed: set once at start, only decorates lines

void write_line(const char* format, va_list arguments) noexcept {
  char line[1024];
  const int rank = shown_rank.load(std::memory_order_relaxed);
  int at = rank < 0 ? std::snprintf(line, sizeof line, "dunlin: ")
                    : std::snprintf(line, sizeof line, "dunlin: rank %d: ", rank);
  at += std::vsnprintf(line + at, sizeof line - std::size_t(at) - 1, format, arguments);
  at = std::min(at, int(sizeof line) - 2);
  line[at++] = '\n';
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, std::size_t(at));
}

}  // namespace

void set_rank(int rank) noexcept { shown_rank.store(rank, std::memory_order_relaxed); }

void warn(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

void note(const char* format, ...) noexcept {
  if (verbose.get() < 1) return;
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
}

void set_end_of_job(void (*end)() noexcept) noexcept { end_of_job = end; }

void end_job(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
  if (end_of_job) end_of_job();
  std::abort();
}

void die(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  write_line(format, arguments);
  va_end(arguments);
  std::abort();
}

}  // namespace dunlin::log
