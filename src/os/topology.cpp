// Near and far CPUs; see topology.hpp.
#include "os/topology.hpp"

#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "base/assert.hpp"
#include "os/cpus.hpp"
#include "os/text_file.hpp"

namespace dunlin::os {
namespace {

using Group = int CpuPlace::*;
constexpr Group kLevels[] = {&CpuPlace::numa, &CpuPlace::l3, &CpuPlace::core};
constexpr int kLevelCount = 3;

/// Fills `group` of every place from lists of CPUs: each list is read once, for its first member.
template <class ListOf>
void fill(std::vector<CpuPlace>& places, Group group, ListOf list_of) {
  std::map<int, int> group_of;  // CPU -> number of its group
  for (CpuPlace& place : places) {
    if (!group_of.contains(place.cpu)) {
      for (const int member : parse_cpu_list(list_of(place.cpu))) group_of.emplace(member, place.cpu);
      group_of.emplace(place.cpu, place.cpu);
    }
    place.*group = group_of[place.cpu];
  }
}

void fill_memory_nodes(std::vector<CpuPlace>& places, const std::string& root) {
  const std::string nodes = root + "/sys/devices/system/node";
  DIR* directory = ::opendir(nodes.c_str());
  if (!directory) return;
  while (const dirent* entry = ::readdir(directory)) {
    int node = -1;
    if (std::sscanf(entry->d_name, "node%d", &node) != 1) continue;
    const std::vector<int> members = parse_cpu_list(read_one_line(nodes + '/' + entry->d_name + "/cpulist"));
    for (CpuPlace& place : places)
      if (std::binary_search(members.begin(), members.end(), place.cpu)) place.numa = node;
  }
  ::closedir(directory);
}

/// Ends of the groups of one level: positions in `places`, the last one being its size.
std::vector<int> group_ends(std::span<const CpuPlace> places, Group group) {
  std::vector<int> ends;
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].*group != places[i - 1].*group) ends.push_back(int(i));
  ends.push_back(int(places.size()));
  return ends;
}

using Shares = std::vector<std::vector<int>>;

/// Cuts at the given positions (the end of each rank's share).
void cut(std::span<const CpuPlace> places, std::span<const int> ends, Shares& shares) {
  int at = 0;
  for (const int end : ends) {
    std::vector<int>& share = shares.emplace_back();
    for (; at < end; ++at) share.push_back(places[std::size_t(at)].cpu);
    std::sort(share.begin(), share.end());
    DUNLIN_ASSERT(!share.empty());
  }
}

/// Fewer ranks than groups: each gets whole groups, cut where the groups end nearest to equal shares.
void share_groups(std::span<const CpuPlace> places, const std::vector<int>& ends, int ranks, Shares& shares) {
  std::vector<int> cuts;
  std::size_t next = 0;  // first group end that is not used yet
  for (int rank = 1; rank <= ranks; ++rank) {
    const int ideal = int(long(places.size()) * rank / ranks);
    // Leave one group for each later rank.
    const std::size_t last = ends.size() - 1 - std::size_t(ranks - rank);
    std::size_t best = next;
    while (best < last && std::abs(ends[best + 1] - ideal) <= std::abs(ends[best] - ideal)) ++best;
    if (rank == ranks) best = last;
    cuts.push_back(ends[best]);
    next = best + 1;
  }
  cut(places, cuts, shares);
}

/// Ranks of each group in proportion to its CPUs; empty when a group would get none or too many.
std::vector<int> ranks_of_groups(const std::vector<int>& ends, int ranks) {
  std::vector<int> counts;
  const long total = ends.back();
  long placed = 0, begin = 0;
  for (const long end : ends) {
    const long until = (2 * ranks * end + total) / (2 * total);  // rounded
    if (until == placed || until - placed > end - begin) return {};
    counts.push_back(int(until - placed));
    placed = until;
    begin = end;
  }
  return counts;
}

void share_level(std::span<const CpuPlace> places, int level, int ranks, Shares& shares) {
  DUNLIN_ASSERT(ranks >= 1 && ranks <= int(places.size()));
  if (level < kLevelCount && ranks > 1) {
    const std::vector<int> ends = group_ends(places, kLevels[level]);
    if (ranks <= int(ends.size())) return share_groups(places, ends, ranks, shares);
    if (const std::vector<int> counts = ranks_of_groups(ends, ranks); !counts.empty()) {
      int begin = 0;
      for (std::size_t i = 0; i < ends.size(); begin = ends[i++]) {
        const auto group = places.subspan(std::size_t(begin), std::size_t(ends[i] - begin));
        share_level(group, level + 1, counts[i], shares);
      }
      return;
    }
    return share_level(places, level + 1, ranks, shares);  // uneven groups: look only at the finer ones
  }
  std::vector<int> ends;
  for (int rank = 1; rank <= ranks; ++rank) ends.push_back(int(long(places.size()) * rank / ranks));
  cut(places, ends, shares);
}

/// Each CPU to `rounds` ranks.
void share_in_turn(std::span<const CpuPlace> places, int rounds, Shares& shares) {
  for (std::size_t begin = 0, end = 0; begin < places.size(); begin = end) {
    const auto is_near = [&](const CpuPlace& place) {
      return place.numa == places[begin].numa && place.l3 == places[begin].l3;
    };
    while (end < places.size() && is_near(places[end])) ++end;
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = begin; i < end; ++i) shares.push_back({places[i].cpu});
  }
}

/// The group that has all these CPUs, or -1.
int group_of(const std::vector<CpuPlace>& places, const std::vector<int>& cpus, Group group) {
  int found = -1;
  for (const CpuPlace& place : places) {
    if (std::find(cpus.begin(), cpus.end(), place.cpu) == cpus.end()) continue;
    if (found >= 0 && place.*group != found) return -1;
    found = place.*group;
  }
  return found;
}

/// Ranks in each group, where every group has equally many in a row.
int ranks_of_each(const std::vector<CpuPlace>& places, const std::vector<std::vector<int>>& cpus_of_rank,
                  Group group) {
  std::vector<int> groups;
  for (const std::vector<int>& cpus : cpus_of_rank) groups.push_back(group_of(places, cpus, group));
  const std::size_t ranks = groups.size();
  std::size_t each = 0;
  while (each < ranks && groups[each] >= 0 && groups[each] == groups[0]) ++each;
  if (each < 2 || each == ranks || ranks % each != 0) return 0;
  std::set<int> seen;
  for (std::size_t first = 0; first < ranks; first += each) {
    if (groups[first] < 0 || !seen.insert(groups[first]).second) return 0;
    for (std::size_t i = 1; i < each; ++i)
      if (groups[first + i] != groups[first]) return 0;
  }
  return int(each);
}

}  // namespace

NearRanks near_ranks(const std::vector<CpuPlace>& places, const std::vector<std::vector<int>>& cpus_of_rank) {
  return {std::uint16_t(ranks_of_each(places, cpus_of_rank, &CpuPlace::numa)),
          std::uint16_t(ranks_of_each(places, cpus_of_rank, &CpuPlace::l3))};
}

std::vector<CpuPlace> read_topology(const std::vector<int>& cpus, const std::string& root) {
  std::vector<CpuPlace> places;
  for (const int cpu : cpus) places.push_back({.cpu = cpu});
  const auto list_in = [&root](const char* file) {
    return [&root, file](int cpu) {
      return read_one_line(root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + file);
    };
  };
  fill(places, &CpuPlace::core, list_in("/topology/thread_siblings_list"));
  fill(places, &CpuPlace::package, list_in("/topology/core_siblings_list"));
  const auto l3_list = list_in("/cache/index3/shared_cpu_list");
  if (!cpus.empty() && !l3_list(cpus[0]).empty()) fill(places, &CpuPlace::l3, l3_list);
  fill_memory_nodes(places, root);
  std::sort(places.begin(), places.end(), [](const CpuPlace& a, const CpuPlace& b) {
    return std::tie(a.numa, a.l3, a.core, a.cpu) < std::tie(b.numa, b.l3, b.core, b.cpu);
  });
  return places;
}

std::vector<std::vector<int>> share_cpus(const std::vector<CpuPlace>& places, int ranks) {
  Shares shares;
  shares.reserve(std::size_t(ranks));
  if (const int rounds = ranks / int(places.size()); rounds > 1)
    share_in_turn(places, rounds, shares);
  else
    share_level(places, 0, ranks, shares);
  DUNLIN_ASSERT(int(shares.size()) == ranks);
  return shares;
}

}  // namespace dunlin::os
