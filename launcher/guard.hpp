// mpirun is two processes: the one the user started (the guard) and its child, which does the work.  Each
// cleans up when the other is killed, even by SIGKILL: the ranks die with the worker (parent-death signal),
// the worker ends the job when the guard dies, and what ranks have started is ended by whichever is left.
#pragma once

#include <signal.h>

namespace dunlin::launcher {

/// Signals that guard and worker take from a queue instead of dying of them.  Those that mpirun was started
/// to ignore (nohup; background jobs of scripts) are not among them.
sigset_t handled_signals() noexcept;

/// In the worker: stops this process as SIGTSTP would: not where no shell could wake it (mpirun leads the
/// session, as in a container), and not where the signal is ignored.  Returns when SIGCONT has come.
void stop_until_continued() noexcept;

/// Makes the worker and returns in it, with the handled signals blocked.  The guard stays inside: it passes
/// signals on, waits, and exits with the worker's exit code.
void split_into_guard_and_worker();

/// In the worker: the guard has been killed.
bool is_guard_dead() noexcept;

}  // namespace dunlin::launcher
