// Jobs over several machines (--hosts): the launcher that is there starts them; Dunlin has none of its own
// for other machines.  Called by main.cpp.
#pragma once

#include "launcher/job.hpp"

namespace dunlin::launcher {

/// Becomes srun (inside an allocation), prterun or mpiexec.hydra, whichever is found first or
/// DUNLIN_REMOTE_LAUNCHER names, and says so.  Settings (DUNLIN_...), what options set in the environment,
/// and the shared heap go along.  Returns mpirun's exit code where there is none, the job is none for it, or
/// there is a --timeout to keep (time_limit.hpp).
int hand_over(const Job& job);

}  // namespace dunlin::launcher
