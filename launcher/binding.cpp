// Which CPUs each rank may use; see binding.hpp.
#include "launcher/binding.hpp"

#include <algorithm>
#include <set>

#include "os/cpus.hpp"
#include "os/topology.hpp"

namespace dunlin::launcher {
namespace {

/// Keeps of a rank's share what `binding` asks for: the first core, the first thread.
void narrow(std::vector<int>& share, const std::vector<os::CpuPlace>& places, Binding binding) {
  const auto place_of = [&places](int cpu) {
    return *std::find_if(places.begin(), places.end(), [cpu](const os::CpuPlace& p) { return p.cpu == cpu; });
  };
  if (binding == Binding::hwthread) share.resize(1);
  if (binding != Binding::core) return;
  const int core = place_of(share[0]).core;
  std::erase_if(share, [&](int cpu) { return place_of(cpu).core != core; });
}

/// Widens a rank's share to all allowed CPUs of the caches or memory nodes it touches.
void widen(std::vector<int>& share, const std::vector<os::CpuPlace>& places, int os::CpuPlace::*group) {
  std::set<int> touched;
  for (const os::CpuPlace& place : places)
    if (std::binary_search(share.begin(), share.end(), place.cpu)) touched.insert(place.*group);
  share.clear();
  for (const os::CpuPlace& place : places)
    if (touched.contains(place.*group)) share.push_back(place.cpu);
  std::sort(share.begin(), share.end());
}

}  // namespace

BindingPlan plan_binding(const Job& job) {
  BindingPlan plan;
  const std::vector<int> cpus = os::allowed_cpus();
  plan.cpus_usable = std::min(int(cpus.size()), os::cpu_quota());
  if (job.binding == Binding::none) return plan;
  const bool are_shares_equal = plan.cpus_usable == int(cpus.size()) && job.size() % plan.cpus_usable == 0;
  if (job.size() > plan.cpus_usable && !are_shares_equal) {
    if (job.is_binding_asked || job.shows_binding)
      plan.complaint =
          "ranks are not bound: " + std::to_string(job.size()) + " ranks share " +
          (plan.cpus_usable < int(cpus.size())
               ? "the time of " + std::to_string(plan.cpus_usable) + " CPUs on " + std::to_string(cpus.size())
               : std::to_string(plan.cpus_usable) + " CPUs, which is not equally many for each");
    return plan;
  }
  if (job.size() == 1 && job.binding == Binding::share) return plan;  // its share is what it has
  const std::vector<os::CpuPlace> places = os::read_topology(cpus);
  plan.cpus_of_rank = os::share_cpus(places, job.size());
  for (std::vector<int>& share : plan.cpus_of_rank) {
    if (job.binding == Binding::l3)
      widen(share, places, &os::CpuPlace::l3);
    else if (job.binding == Binding::numa)
      widen(share, places, &os::CpuPlace::numa);
    else if (job.binding == Binding::package)
      widen(share, places, &os::CpuPlace::package);
    else
      narrow(share, places, job.binding);
  }
  plan.near = os::near_ranks(places, plan.cpus_of_rank);
  return plan;
}

}  // namespace dunlin::launcher
