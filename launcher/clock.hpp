// Milliseconds since the machine started, for the launcher's time limits.  Thread safety: any thread.
#pragma once

#include "os/clock.hpp"

namespace dunlin::launcher {

inline long now_ms() noexcept { return long(os::now_ns() / 1'000'000); }

}  // namespace dunlin::launcher
