// Which CPUs are near each other, read from /sys, how to share them out among ranks, and which ranks are near
// each other then.  Used by mpirun (launcher/binding.cpp), and by the first rank of a node elsewhere.  Why
// not hwloc: docs/decisions/0039-topology-and-reordering.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dunlin::os {

/// One CPU and the groups it belongs to; numbers are arbitrary, equal within a group.
struct CpuPlace {
  int cpu = 0;
  int numa = 0;     // memory node
  int l3 = 0;       // CPUs behind one last-level cache
  int core = 0;     // hardware threads of one core
  int package = 0;  // CPUs of one socket; not used for shares
};

/// Places of `cpus`, near ones together (by memory node, cache, core, number).  What /sys does not tell
/// counts as one memory node, one cache, and a core for each CPU.  `root` is "" except in tests.
/// Cost: about 10 us for each core of the machine.
std::vector<CpuPlace> read_topology(const std::vector<int>& cpus, const std::string& root = "");

/// Gives each of `ranks` an equal share of the CPUs, as near as possible: whole memory nodes, caches
/// and cores where the numbers allow it, never one core to two ranks as long as there is a core for each.
/// `places` come from read_topology and are at least as many as ranks.  Shares are disjoint and in rank
/// order from near to far.
/// Or ranks are a multiple of them: then each CPU gets equally many, and the ranks of a cache get its CPUs in
/// turn, so that neighbors, who talk most, run beside each other.
std::vector<std::vector<int>> share_cpus(const std::vector<CpuPlace>& places, int ranks);

/// How many ranks of a machine in a row are near each other.
struct NearRanks {
  std::uint16_t memory = 0;  // on one memory node; 0: not alike everywhere, or no more than one, or all
  std::uint16_t cache = 0;   // the same behind one last-level cache
  bool operator==(const NearRanks&) const = default;
};

/// Of ranks that are bound to these CPUs.
NearRanks near_ranks(const std::vector<CpuPlace>& places, const std::vector<std::vector<int>>& cpus_of_rank);

}  // namespace dunlin::os
