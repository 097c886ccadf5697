// Ends whatever the ranks have started: children, grandchildren, also those in sessions of their own.
// Works because mpirun is a "child subreaper": orphans become its children.  Used by supervisor.cpp and
// guard.cpp.
#pragma once

#include <sys/types.h>

#include <vector>

namespace dunlin::launcher {

/// Makes orphaned descendants children of this process.
void adopt_orphans() noexcept;

/// Children of this process now.
std::vector<pid_t> children();

/// Kills and reaps all descendants; returns when there are none, or after `timeout_ms` (a process in an
/// uninterruptible system call).  Cost when there are none: one system call.
void end_descendants(int timeout_ms);

}  // namespace dunlin::launcher
