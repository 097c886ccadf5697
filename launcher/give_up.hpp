// The end of mpirun before there is a job: something that it needs from the kernel is refused.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace dunlin::launcher {

/// "mpirun: cannot <what>: <why>", and the end of this process; its other half follows.
[[noreturn]] inline void give_up(const char* what, const char* why = std::strerror(errno)) noexcept {
  std::fprintf(stderr, "mpirun: cannot %s: %s\n", what, why);
  ::_exit(1);
}

}  // namespace dunlin::launcher
