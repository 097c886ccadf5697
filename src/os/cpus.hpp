// How many CPUs this process may use: its affinity mask and the CPU quota of its control groups.
// Used by mpirun to share them out, and by progress/ to know whether ranks have to share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dunlin::os {

/// Numbers of the CPUs in the affinity mask of the calling thread, ascending; never empty.
std::vector<int> allowed_cpus();

/// Restricts the calling thread (and what it starts) to `cpus`; false when the kernel refuses.
bool try_bind(const std::vector<int>& cpus) noexcept;

/// CPUs' worth of time that control groups grant, rounded up; `unlimited` (a large number) when they set no
/// limit. `root` is "" except in tests, which put a copy of /proc/self/cgroup and /sys/fs/cgroup elsewhere.
inline constexpr int kUnlimitedCpus = 1 << 20;
int cpu_quota(const std::string& root = "");

/// The smaller of the two: how many ranks may compute at the same time.
int usable_cpu_count();

/// "0-3,8" as numbers, as in /sys; an unreadable part ends the list.
std::vector<int> parse_cpu_list(std::string_view text);
/// The inverse, for messages.
std::string format_cpu_list(const std::vector<int>& cpus);

}  // namespace dunlin::os
