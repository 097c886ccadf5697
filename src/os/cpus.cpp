// Allowed CPUs; see cpus.hpp.
#include "os/cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>

#include "base/assert.hpp"
#include "os/text_file.hpp"

namespace dunlin::os {
namespace {

constexpr int kCpusMax = 1 << 16;  // ends the search for a mask size that the kernel takes

/// Time per period as whole CPUs; `unlimited` for "max", -1 and files that are not there.
int quota_of(std::string_view quota, std::string_view period) noexcept {
  long long time = 0, each = 0;
  std::from_chars(quota.data(), quota.data() + quota.size(), time);
  std::from_chars(period.data(), period.data() + period.size(), each);
  if (time <= 0 || each <= 0) return kUnlimitedCpus;
  return int(std::min<long long>((time + each - 1) / each, kUnlimitedCpus));
}

/// The limit set in one directory of a control group tree, version 1 or 2.
int quota_in(const std::string& directory) {
  const std::string v2 = read_one_line(directory + "/cpu.max");  // "200000 100000" or "max 100000"
  if (const std::size_t blank = v2.find(' '); blank != std::string::npos)
    return quota_of(std::string_view(v2).substr(0, blank), std::string_view(v2).substr(blank + 1));
  const std::string v1 = directory + "/cpu.cfs_";
  return quota_of(read_one_line(v1 + "quota_us"), read_one_line(v1 + "period_us"));
}

/// The smallest limit from `path` up to the root of the tree mounted at `mount`: each level counts.
int quota_along(const std::string& mount, std::string path) {
  int least = quota_in(mount);
  while (path.size() > 1) {
    least = std::min(least, quota_in(mount + path));
    path.erase(path.rfind('/'));
  }
  return least;
}

/// Does "cpu,cpuacct" name the controller "cpu"?
bool names_cpu(std::string_view controllers) noexcept {
  while (!controllers.empty()) {
    const std::size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == "cpu") return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  for (int count = 1024; cpus.empty() && count <= kCpusMax; count *= 4) {
    cpu_set_t* mask = CPU_ALLOC(std::size_t(count));
    const std::size_t bytes = CPU_ALLOC_SIZE(std::size_t(count));
    if (mask && ::sched_getaffinity(0, bytes, mask) == 0)
      for (int cpu = 0; cpu < count; ++cpu)
        if (CPU_ISSET_S(std::size_t(cpu), bytes, mask)) cpus.push_back(cpu);
    CPU_FREE(mask);
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

bool try_bind(const std::vector<int>& cpus) noexcept {
  DUNLIN_ASSERT(!cpus.empty());
  const std::size_t count = std::size_t(*std::max_element(cpus.begin(), cpus.end())) + 1;
  cpu_set_t* mask = CPU_ALLOC(count);
  if (!mask) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, mask);
  for (const int cpu : cpus) CPU_SET_S(std::size_t(cpu), bytes, mask);
  const bool is_bound = ::sched_setaffinity(0, bytes, mask) == 0;
  CPU_FREE(mask);
  return is_bound;
}

int cpu_quota(const std::string& root) {
  // Lines like "4:cpu,cpuacct:/path" (version 1) and "0::/path" (version 2).
  const std::string text = read_text_file(root + "/proc/self/cgroup");
  const std::string tree = root + "/sys/fs/cgroup";
  int least = kUnlimitedCpus;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min({least, quota_along(tree, path), quota_along(tree + "/unified", path)});
    } else if (names_cpu(controllers)) {
      const int named = quota_along(tree + '/' + controllers, path);
      least = std::min({least, named, quota_along(tree + "/cpu", path)});
    }
  }
  DUNLIN_ASSERT(least >= 1);
  return least;
}

int usable_cpu_count() { return std::min(int(allowed_cpus().size()), cpu_quota()); }

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    int first = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), first);
    if (error != std::errc{} || first < 0) break;
    text.remove_prefix(std::size_t(end - text.data()));
    int last = first;
    if (text.starts_with('-')) {
      const auto [range_end, range_error] = std::from_chars(text.data() + 1, text.data() + text.size(), last);
      if (range_error != std::errc{} || last - first >= kCpusMax) break;
      text.remove_prefix(std::size_t(range_end - text.data()));
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (!text.starts_with(',')) break;
    text.remove_prefix(1);
  }
  return cpus;
}

std::string format_cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (i > 0) text += ',';
    text += std::to_string(cpus[i]);
    if (last > i) text += '-' + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace dunlin::os
