// See source_lines.hpp.
#include "launcher/source_lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "launcher/guard.hpp"

extern char** environ;

namespace dunlin::launcher {
namespace {

constexpr int kWaitMs = 3000;  // for each program: much debug information takes long to read
constexpr int kSliceMs = 50;   // between looks for signals

/// Whether the guard is gone, or a signal that ends the job waits to be read (they are blocked, see
/// supervisor.cpp).
bool is_told_to_end() noexcept {
  if (is_guard_dead()) return true;
  sigset_t waiting;
  if (::sigpending(&waiting) != 0) return false;
  return sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1 ||
         sigismember(&waiting, SIGHUP) == 1;
}

/// What addr2line prints for `addresses`: one line each.
std::string run_addr2line(const std::string& file, const std::vector<std::string>& addresses) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  std::vector<std::string> words = {"addr2line", "-s", "-e", file};
  words.insert(words.end(), addresses.begin(), addresses.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const bool is_started =
      ::posix_spawnp(&child, "addr2line", &files, nullptr, arguments.data(), environ) == 0;
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  std::string text;
  char part[4096];
  pollfd readable{ends[0], POLLIN, 0};
  for (int waited_ms = 0; is_started && waited_ms < kWaitMs && !is_told_to_end();) {
    if (::poll(&readable, 1, kSliceMs) != 1) {
      waited_ms += kSliceMs;
      continue;
    }
    const ssize_t bytes = ::read(ends[0], part, sizeof part);
    if (bytes <= 0) break;
    text.append(part, std::size_t(bytes));
  }
  ::close(ends[0]);
  if (is_started) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return text;
}

}  // namespace

void find_source_lines(std::vector<CodePlace>& places) {
  std::vector<std::string> files;
  for (CodePlace& place : places) {
    if (place.address == 0) continue;
    char text[32];
    std::snprintf(text, sizeof text, "+0x%llx", static_cast<unsigned long long>(place.address));
    place.line = place.file.substr(place.file.rfind('/') + 1) + text;
    if (std::find(files.begin(), files.end(), place.file) == files.end()) files.push_back(place.file);
  }
  for (const std::string& file : files) {
    std::vector<std::string> addresses;
    for (const CodePlace& place : places) {
      char text[32];
      // Of the call; the address is what it returns to.
      std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(place.address - 1));
      if (place.file == file && place.address != 0) addresses.push_back(text);
    }
    const std::string lines = run_addr2line(file, addresses);
    std::size_t at = 0;
    for (CodePlace& place : places) {
      if (place.file != file || place.address == 0) continue;
      const std::size_t end = lines.find('\n', at);
      if (end == std::string::npos) break;
      const std::string line = lines.substr(at, std::min(end, lines.find(" (", at)) - at);
      place.has_source = !line.starts_with("??") && !line.ends_with(":?");
      if (place.has_source) place.line = line;
      at = end + 1;
    }
  }
}

}  // namespace dunlin::launcher
