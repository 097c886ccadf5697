// Which CPUs are near each other, read from /sys, and how to share them out among ranks. Used by
// mpirun (launcher/binding.cpp).  hwloc knows more, but costs 20 ms at start and is not needed to run.
#pragma once

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
std::vector<std::vector<int>> share_cpus(const std::vector<CpuPlace>& places, int ranks);

}  // namespace dunlin::os
