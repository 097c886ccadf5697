// A setting of mpirun; here so that ranks know it, too, when they look for misspelt settings.
#pragma once

namespace dunlin::boot {

/// DUNLIN_REMOTE_LAUNCHER; "" where it is not set.
const char* remote_launcher() noexcept;

}  // namespace dunlin::boot
