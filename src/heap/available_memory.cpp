#include "heap/available_memory.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdint>

namespace dunlin::heap {
namespace {

constexpr std::size_t kPathMax = 1024;

/// The start of a file as a string; false when it cannot be read.
bool read_text(const char* path, char* text, std::size_t bytes_max) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t bytes = read(file, text, bytes_max - 1);
  close(file);
  if (bytes < 0) return false;
  text[bytes] = 0;
  return true;
}

/// A number that is the whole of a small file; false for "max" and for no file.
bool read_count(const char* folder, const char* name, std::size_t& count) noexcept {
  char path[kPathMax + 64];
  char text[64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (!read_text(path, text, sizeof text) || text[0] < '0' || text[0] > '9') return false;
  count = 0;
  for (const char* at = text; *at >= '0' && *at <= '9'; ++at) count = count * 10 + std::size_t(*at - '0');
  return true;
}

/// Of control groups.
struct Version {
  const char *controllers, *folder, *limit, *used;
};
constexpr Version kVersions[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current"},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
};

/// Whether a line "4:cpu,memory:/path" is of the version; the controllers of version 2 are none.
bool is_of(const char* line, const Version& version) noexcept {
  const char* at = strchr(line, ':');
  const std::size_t bytes = strlen(version.controllers);
  while (at && *at != '\n') {
    const char* const name = at + 1;
    at = strpbrk(name, ",:\n");
    if (at && std::size_t(at - name) == bytes && strncmp(name, version.controllers, bytes) == 0) return true;
    if (at && *at == ':') return false;
  }
  return false;
}

/// Path of this process's group, "/" at the root.
bool find_group(const char* root, const Version& version, char* group, std::size_t bytes_max) noexcept {
  char path[kPathMax];
  char text[4096];
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  if (!read_text(path, text, sizeof text)) return false;
  const char* line = text;
  while (line && !is_of(line, version)) {
    line = strchr(line, '\n');
    if (line) ++line;
  }
  if (line) line = strchr(line, '/');
  if (!line) return false;
  const std::size_t bytes = strcspn(line, "\n");
  if (bytes >= bytes_max) return false;
  memcpy(group, line, bytes);
  group[bytes] = 0;
  return true;
}

/// No more than this group and all above it allow.  In a container the path may be one outside; then the root
/// of what is mounted is the group.
void limit_by(const char* root, const Version& version, Memory& least) noexcept {
  char group[kPathMax / 2];
  if (!find_group(root, version, group, sizeof group)) return;
  while (true) {
    char folder[kPathMax];
    snprintf(folder, sizeof folder, "%s%s%s", root, version.folder, group);
    std::size_t limit = 0;
    std::size_t used = 0;
    if (read_count(folder, version.limit, limit) && read_count(folder, version.used, used)) {
      const std::size_t left = limit > used ? limit - used : 0;
      if (limit < least.total) least.total = limit;
      if (left < least.free) least.free = left;
    }
    char* slash = strrchr(group, '/');
    if (!slash || group[0] == 0) return;
    *slash = 0;
  }
}

}  // namespace

Memory available_memory(const char* root, Memory machine) noexcept {
  for (const Version& each : kVersions) limit_by(root, each, machine);
  return machine;
}

Memory available_memory() noexcept {
  struct sysinfo info{};
  if (sysinfo(&info) != 0) return {};
  const std::size_t unit = info.mem_unit;
  return available_memory("", {info.totalram * unit, info.freeram * unit});
}

}  // namespace dunlin::heap
