// See time_slice.hpp.  sched_setattr(2): glibc has it from 2.41 on.
#include "os/time_slice.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace dunlin::os {
namespace {

/// The kernel's `struct sched_attr`, its first version.
struct Attributes {
  std::uint32_t size = sizeof(Attributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  // ns: the slice of a usual policy
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};
static_assert(sizeof(Attributes) == 48);

bool try_get(Attributes& attributes) noexcept {
  return syscall(SYS_sched_getattr, 0, &attributes, sizeof(Attributes), 0) == 0;
}

/// `ns` as 0: as the system has it.
bool try_set(Attributes& attributes, std::int64_t ns) noexcept {
  attributes.runtime = std::uint64_t(ns);
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

// ns; 0: the turns of this process are not shortened.  Relaxed: threads that do not know of it yet keep
// theirs.
std::atomic<std::int64_t> shortened_to{0};

}  // namespace

bool try_shorten_time_slice(std::int64_t ns) noexcept {
  Attributes attributes;
  if (!try_get(attributes)) return false;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return false;
  if (attributes.runtime <= std::uint64_t(ns)) return false;
  if (!try_set(attributes, ns)) return false;
  shortened_to.store(ns, std::memory_order_relaxed);
  return true;
}

UsualTurns::UsualTurns() noexcept {
  const std::int64_t ns = shortened_to.load(std::memory_order_relaxed);
  Attributes attributes;
  if (ns == 0 || !try_get(attributes) || attributes.runtime != std::uint64_t(ns)) return;
  if (try_set(attributes, 0)) short_ns_ = ns;
}

UsualTurns::~UsualTurns() {
  Attributes attributes;
  if (short_ns_ > 0 && try_get(attributes)) (void)try_set(attributes, short_ns_);
}

std::int64_t time_slice() noexcept {
  Attributes attributes;
  return try_get(attributes) ? std::int64_t(attributes.runtime) : 0;
}

}  // namespace dunlin::os
