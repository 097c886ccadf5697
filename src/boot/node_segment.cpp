// The segment of a node under every launcher; see node_segment.hpp.
#include "boot/node_segment.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/assert.hpp"
#include "boot/launch_page.hpp"
#include "os/cpus.hpp"
#include "os/descriptor_exchange.hpp"

namespace dunlin::boot {
namespace {

constexpr char kTicketKey[] = "node_segment";
constexpr int kHandOverSecondsMax = 60;  // a rank that has not come by then is dead or stopped

Result<int> make(const Boot& boot) noexcept {
  const int fd = make_node_segment(boot.node_size(), boot.node_size() == 1 ? os::usable_cpu_count() : 0);
  if (fd >= 0) return fd;
  return fail(Err::no_mem, "cannot make the shared segment of this node: %s", std::strerror(errno));
}

/// Node rank 0: serves the descriptor until every rank of the node has counted itself in.
Err hand_out(os::DescriptorOffer& offer, LaunchPage& page, int node_size) noexcept {
  const time_t limit = ::time(nullptr) + kHandOverSecondsMax;
  // Relaxed: only the number matters; the takers have the whole page by then.
  while (page.attached.load(std::memory_order_relaxed) < std::uint32_t(node_size)) {
    offer.serve(1, 1);
    if (::time(nullptr) > limit)
      return fail(Err::other, "only %u of the %d ranks of this node took the shared segment in %d s",
                  page.attached.load(std::memory_order_relaxed), node_size, kHandOverSecondsMax);
  }
  return Err::ok;
}

Result<int> lead(Boot& boot) noexcept {
  const Result<int> fd = make(boot);
  if (!fd) return fd;
  LaunchPage* page = map_launch_page(fd.value(), boot.node_size());
  if (!page) return fail(Err::no_mem, "cannot map the shared segment of this node: %s", std::strerror(errno));
  page->attached.store(1, std::memory_order_relaxed);  // nobody else has the page yet
  Result<os::DescriptorOffer> offer = os::DescriptorOffer::open(fd.value());
  Err error = offer.error();
  if (error == Err::ok) error = boot.put(kTicketKey, offer->ticket());
  if (error == Err::ok) error = boot.fence();
  if (error == Err::ok) error = hand_out(*offer, *page, boot.node_size());
  unmap_launch_page(page);
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
  if (!page) return fail(Err::other, "what node rank 0 handed out is not the segment of this node");
  page->attached.fetch_add(1, std::memory_order_relaxed);  // only counted, see hand_out
  unmap_launch_page(page);
  return fd;
}

}  // namespace

Result<int> node_segment(Boot& boot) noexcept {
  DUNLIN_ASSERT(boot.node_rank() >= 0);
  if (boot.node_segment_fd() >= 0) {
    const int copy = ::fcntl(boot.node_segment_fd(), F_DUPFD_CLOEXEC, 3);
    if (copy < 0) return fail(Err::no_mem, "cannot duplicate a descriptor: %s", std::strerror(errno));
    return copy;
  }
  if (boot.size() == 1) return make(boot);
  return boot.node_rank() == 0 ? lead(boot) : follow(boot);
}

}  // namespace dunlin::boot
