// Ending descendants; see descendants.hpp.
#include "launcher/descendants.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "launcher/clock.hpp"
#include "os/text_file.hpp"

namespace dunlin::launcher {
namespace {

/// By looking at every process, where the kernel has no list of children (CONFIG_PROC_CHILDREN).
std::vector<pid_t> children_by_search() {
  std::vector<pid_t> found;
  DIR* directory = ::opendir("/proc");
  if (!directory) return found;
  while (const dirent* entry = ::readdir(directory)) {
    const pid_t pid = pid_t(std::atoi(entry->d_name));
    if (pid <= 0) continue;
    const std::string status = os::read_text_file(std::string("/proc/") + entry->d_name + "/stat");
    const std::size_t name_end = status.rfind(')');  // the name before it may contain anything
    int parent = 0;
    if (name_end != std::string::npos && std::sscanf(status.c_str() + name_end, ") %*c %d", &parent) == 1 &&
        parent == ::getpid())
      found.push_back(pid);
  }
  ::closedir(directory);
  return found;
}

}  // namespace

void adopt_orphans() noexcept { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> children() {
  const std::string file = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
  if (::access(file.c_str(), R_OK) != 0) return children_by_search();
  std::vector<pid_t> found;
  const std::string text = os::read_text_file(file);
  const char* at = text.c_str();
  for (char* end; *at; at = end) {
    const long pid = std::strtol(at, &end, 10);
    if (end == at) break;
    found.push_back(pid_t(pid));
    while (*end == ' ') ++end;
  }
  return found;
}

void end_descendants(int timeout_ms) {
  const long limit = now_ms() + timeout_ms;
  for (;;) {
    // Reap what has ended; killing a child may bring us its children.
    pid_t reaped;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) return;
    for (const pid_t pid : children()) ::kill(pid, SIGKILL);
    if (now_ms() > limit) return;
    const timespec pause{0, 500000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace dunlin::launcher
