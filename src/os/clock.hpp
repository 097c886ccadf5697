// Time for waits and time-outs.
#pragma once

#include <cstdint>
#include <ctime>

namespace dunlin::os {

/// Nanoseconds since some fixed moment, the same for all processes of the machine; never goes back.
inline std::int64_t now_ns() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace dunlin::os
