// Settings of mpirun; here so that ranks know them, too, when they look for misspelt settings.
#pragma once

namespace dunlin::boot {

/// DUNLIN_REMOTE_LAUNCHER; "" where it is not set.
const char* remote_launcher() noexcept;

/// DUNLIN_PROFILE.
bool is_profiled() noexcept;

}  // namespace dunlin::boot
