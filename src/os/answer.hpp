// The end of a command that answers a question on standard output (mpirun --help, dunlin-info, mpicc -show).
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace dunlin::os {

/// The command's exit code: 0, or 1 where its answer could not be written, which is said.
inline int end_answer(const char* program) noexcept {
  if (std::ferror(stdout) == 0 && std::fflush(stdout) == 0) return 0;
  std::fprintf(stderr, "%s: cannot write standard output: %s\n", program, std::strerror(errno));
  return 1;
}

}  // namespace dunlin::os
