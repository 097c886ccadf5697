// See time_slice.hpp.  sched_setattr(2): glibc has it from 2.41 on.
#include "os/time_slice.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

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

}  // namespace

bool try_shorten_time_slice(std::int64_t ns) noexcept {
  Attributes attributes;
  if (!try_get(attributes)) return false;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return false;
  if (attributes.runtime <= std::uint64_t(ns)) return false;
  attributes.runtime = std::uint64_t(ns);
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

std::int64_t time_slice() noexcept {
  Attributes attributes;
  return try_get(attributes) ? std::int64_t(attributes.runtime) : 0;
}

}  // namespace dunlin::os
