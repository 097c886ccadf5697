// Which CPUs each rank may use.  Called once by supervisor.cpp before the first rank starts.
#pragma once

#include <string>
#include <vector>

#include "launcher/job.hpp"
#include "os/topology.hpp"

namespace dunlin::launcher {

struct BindingPlan {
  std::vector<std::vector<int>> cpus_of_rank;  // empty: ranks are not bound
  int cpus_usable = 1;                         // by mask and quota, for the launch page
  os::NearRanks near;                          // as they are bound, for the launch page
  std::string complaint;                       // why what the user asked for is not done; "" when it is
};

/// The default gives each rank its equal share.  With more ranks than CPUs, too, where that is possible: left
/// alone, ranks that wake each other gather on a few CPUs (docs/decisions/0034).  Where it is not,
/// nobody is bound, so that the system can move them.
BindingPlan plan_binding(const Job& job);

}  // namespace dunlin::launcher
