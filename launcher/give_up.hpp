// The end of mpirun before there is a job: something that it needs from the kernel is refused.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace dunlin::launcher {

/// "mpirun: cannot <what>: <errno>", and the end of this process; its other half follows.
[[noreturn]] inline void give_up(const char* what) noexcept {
  std::fprintf(stderr, "mpirun: cannot %s: %s\n", what, std::strerror(errno));
  ::_exit(1);
}

}  // namespace dunlin::launcher
