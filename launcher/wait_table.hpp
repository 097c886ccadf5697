// Who waits for whom, as a table for people, and what is wrong in a sentence.  Used by supervisor.cpp: for a
// deadlock, at the end of --timeout, and when SIGQUIT or SIGUSR1 asks for it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "boot/launch_page.hpp"

namespace dunlin::launcher {

/// Lines without line ends.  `pids`: of each rank; -1: it has ended.  `is_deadlock`: all wait; the last lines
/// then say why.
std::vector<std::string> wait_table(boot::LaunchPage& page, const std::vector<pid_t>& pids, bool is_deadlock);

}  // namespace dunlin::launcher
