// Who waits for whom, as a table for people, and what is wrong in a sentence.  Used by supervisor.cpp: for a
// deadlock, at the end of --timeout, and when SIGQUIT or SIGUSR1 asks for it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "boot/launch_page.hpp"

namespace dunlin::launcher {

/// Asks the ranks what they test in vain, until the table is made: half a second tells loops from single
/// tests.
void ask_for_tests(boot::LaunchPage& page, int ranks);
constexpr long kTestsMs = 500;

/// Lines without line ends.  `pids`: of each rank; -1: it has ended.  `is_deadlock`: all wait; the last lines
/// then say why.  They also do where all wait or test in vain, as a suspicion.
std::vector<std::string> wait_table(boot::LaunchPage& page, const std::vector<pid_t>& pids, bool is_deadlock);

}  // namespace dunlin::launcher
