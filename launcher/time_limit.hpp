// --timeout of a job that another launcher runs: what timeout(1) does, and its ranks say before what they
// wait for.  Used by hand_over.cpp.
#pragma once

namespace dunlin::launcher {

/// Runs a command that passes SIGUSR1 on to its ranks, which answer it (src/progress/wait_signal.hpp).
/// Answers its exit code, or 124 where it was still there after `seconds`.
int run_with_limit(char* const* words, double seconds);

}  // namespace dunlin::launcher
