// The segment of a node under every launcher; see node_segment.hpp.
#include "boot/node_segment.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "base/assert.hpp"
#include "boot/launch_page.hpp"
#include "os/clock.hpp"
#include "os/cpus.hpp"
#include "os/descriptor_exchange.hpp"
#include "os/topology.hpp"

namespace dunlin::boot {
namespace {

constexpr char kTicketKey[] = "node_segment";
constexpr char kCpusKey[] = "cpus";
constexpr int kHandOverSecondsMax = 60;  // a rank that has not come by then is dead or stopped

/// What the masks of this machine's ranks say.
struct Masks {
  int cpus_usable = 1;  // of all together, since the launcher may have bound each to its own; and their quota
  os::NearRanks near;
};

/// After a fence that followed the put of kCpusKey.
Result<Masks> masks_of_machine(Boot& boot) noexcept {
  std::set<int> cpus;
  std::vector<std::vector<int>> cpus_of_rank;
  int quota = os::kUnlimitedCpus;
  for (const int rank : boot.machine_peers()) {
    const Result<std::string> text = boot.get(rank, kCpusKey);  // "<quota>;<list>"
    if (!text) return text.error();
    const std::size_t end = text.value().find(';');
    if (end == std::string::npos) return fail(Err::other, "rank %d did not say which CPUs it has", rank);
    quota = std::min(quota, std::atoi(text.value().c_str()));
    cpus_of_rank.push_back(os::parse_cpu_list(text.value().substr(end + 1)));
    cpus.insert(cpus_of_rank.back().begin(), cpus_of_rank.back().end());
  }
  const std::vector<os::CpuPlace> places = os::read_topology({cpus.begin(), cpus.end()});
  return Masks{std::min(quota, int(cpus.size())), os::near_ranks(places, cpus_of_rank)};
}

Err tell_cpus(Boot& boot) noexcept {
  const std::string list = os::format_cpu_list(os::allowed_cpus());
  if (const Err e = boot.put(kCpusKey, std::to_string(os::cpu_quota()) + ';' + list); e != Err::ok) return e;
  return boot.fence();
}

Result<int> make(const Boot& boot, const Masks& masks) noexcept {
  const int fd = make_node_segment(boot.node_size(), masks.cpus_usable, masks.near);
  if (fd >= 0) return fd;
  return fail(Err::no_mem, "cannot make the shared segment of this node: %s", std::strerror(errno));
}

/// Node rank 0: serves the descriptor until every rank of the node has counted itself in.
Err hand_out(os::DescriptorOffer& offer, LaunchPage& page, int node_size) noexcept {
  const std::int64_t limit_ns = os::now_ns() + kHandOverSecondsMax * std::int64_t{1'000'000'000};
  // Relaxed: only the number matters; the takers have the whole page by then.
  while (page.attached.load(std::memory_order_relaxed) < std::uint32_t(node_size)) {
    offer.serve(1, 1);
    if (os::now_ns() > limit_ns)
      return fail(Err::other, "only %u of the %d ranks of this machine have joined the job within %d s",
                  page.attached.load(std::memory_order_relaxed), node_size, kHandOverSecondsMax);
  }
  return Err::ok;
}

Result<int> lead(Boot& boot) noexcept {
  const Result<Masks> masks = masks_of_machine(boot);
  if (!masks) return masks.error();
  const Result<int> fd = make(boot, masks.value());
  if (!fd) return fd;
  LaunchPage* page = map_launch_page(fd.value(), boot.node_size());
  if (!page) return fail(Err::no_mem, "cannot map the shared segment of this node: %s", std::strerror(errno));
  page->attached.store(1, std::memory_order_relaxed);  // nobody else has the page yet
  Result<os::DescriptorOffer> offer = os::DescriptorOffer::open(fd.value());
  Err error = offer.error();
  if (error == Err::ok) error = boot.put(kTicketKey, offer->ticket());
  if (error == Err::ok) error = boot.fence();
  if (error == Err::ok) error = hand_out(*offer, *page, boot.node_size());
  unmap_launch_page(page, boot.node_size());
  if (error == Err::ok) return fd;
  ::close(fd.value());
  return error;
}

Result<int> follow(Boot& boot) noexcept {
  if (const Err e = boot.fence(); e != Err::ok) return e;
  const Result<std::string> ticket = boot.get(boot.node_peers()[0], kTicketKey);
  if (!ticket) return ticket.error();
  const Result<int> fd = os::take_descriptor(ticket.value(), kHandOverSecondsMax * 1000);
  if (!fd) return fd;
  LaunchPage* page = map_launch_page(fd.value(), boot.node_size());
  if (!page)
    return fail(Err::other, "the shared memory from the first rank of this machine is not that of this job");
  page->attached.fetch_add(1, std::memory_order_relaxed);  // only counted, see hand_out
  unmap_launch_page(page, boot.node_size());
  return fd;
}

}  // namespace

Result<int> node_segment(Boot& boot) noexcept {
  DUNLIN_ASSERT(boot.node_rank() >= 0);
  if (boot.inherited_segment_fd() >= 0 && boot.nodes() == 1) {
    const int copy = ::fcntl(boot.inherited_segment_fd(), F_DUPFD_CLOEXEC, 3);
    if (copy < 0) return fail(Err::no_mem, "cannot duplicate a descriptor: %s", std::strerror(errno));
    return copy;
  }
  if (boot.size() == 1) return make(boot, {.cpus_usable = os::usable_cpu_count(), .near = {}});
  if (const Err e = tell_cpus(boot); e != Err::ok) return e;
  return boot.node_rank() == 0 ? lead(boot) : follow(boot);
}

}  // namespace dunlin::boot
