// The guard process; see guard.hpp.
#include "launcher/guard.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "launcher/descendants.hpp"
#include "launcher/give_up.hpp"

namespace dunlin::launcher {
namespace {

constexpr int kEndMs = 1000;  // a descendant that does not die of SIGKILL in this time is stuck in the kernel

pid_t guard_pid = 0;

/// Passes on what was sent to the guard alone; what a terminal sends, the worker gets itself, except that a
/// hang-up is told to the leader of the session only.  A worker that somebody has stopped ends, too.
void pass_on(pid_t worker, const siginfo_t& info) noexcept {
  const int signal = info.si_signo;
  if (info.si_code != SI_KERNEL || signal == SIGHUP) ::kill(worker, signal);
  if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP) ::kill(worker, SIGCONT);
}

[[noreturn]] void guard(pid_t worker, const sigset_t& signals) {
  for (;;) {
    siginfo_t info;
    const int signal = ::sigwaitinfo(&signals, &info);
    if (signal > 0 && signal != SIGCHLD) pass_on(worker, info);
    int status = 0;
    const pid_t ended = ::waitpid(worker, &status, WNOHANG | WUNTRACED);
    if (ended == 0) continue;
    if (ended == worker && WIFSTOPPED(status)) {
      // After Ctrl-Z both stop.  Only the worker ever lets SIGTSTP through: what comes here while both go on
      // waits in line, and is passed on.
      if (WSTOPSIG(status) == SIGTSTP) ::raise(SIGSTOP);
      continue;
    }
    if (ended == worker && WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
    // The worker was killed: the ranks die with it, what they started is ours now.
    end_descendants(kEndMs);
    const int reason = ended == worker && WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL;
    std::fprintf(stderr, "mpirun: ended by signal %d (%s), and the job with it\n", reason,
                 ::strsignal(reason));
    ::_exit(128 + reason);
  }
}

}  // namespace

sigset_t handled_signals() noexcept {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    struct sigaction action;
    const bool is_ignored = ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (!is_ignored) sigaddset(&signals, signal);
  }
  return signals;
}

void stop_until_continued() noexcept {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // here
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

void split_into_guard_and_worker() {
  const sigset_t signals = handled_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  adopt_orphans();
  guard_pid = ::getpid();
  const pid_t worker = ::fork();
  if (worker < 0) give_up("make a process");
  if (worker > 0) guard(worker, signals);
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);  // also wakes who is stopped
  if (is_guard_dead()) ::_exit(1);     // it died before the line above
  ::prctl(PR_SET_NAME, "mpirun-worker");
  adopt_orphans();
}

bool is_guard_dead() noexcept { return ::getppid() != guard_pid; }

}  // namespace dunlin::launcher
