// The command line of mpirun.  Called by main.cpp; docs/launcher.md and --help describe the options.
#pragma once

#include <string>

#include "launcher/job.hpp"

namespace dunlin::launcher {

/// Fills `job`; false when mpirun should end at once with `exit_code` (wrong usage, --help, --version):
/// then what there is to say has been printed.
bool try_parse_command_line(int argc, char** argv, Job& job, int& exit_code);

}  // namespace dunlin::launcher
