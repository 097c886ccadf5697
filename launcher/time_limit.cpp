// See time_limit.hpp.
#include "launcher/time_limit.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "launcher/clock.hpp"

namespace dunlin::launcher {
namespace {

constexpr long kAnswerMs = 1000;  // for the ranks' sentences on their way through the launcher
constexpr long kTermMs = 5000;    // Hydra may survive SIGTERM

pid_t start(char* const* words, const sigset_t& signals) {
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid != 0) return pid;
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() == parent) ::execvp(words[0], words);
  std::fprintf(stderr, "mpirun: cannot start %s: %s\n", words[0], std::strerror(errno));
  ::_exit(127);
}

/// What has to be done at the limit, one after the other; answers how long to wait then.
long go_on_to_end(int stage, pid_t job) {
  if (stage == 0)
    std::fprintf(stderr, "mpirun: who waits for whom at the end of --timeout, as the ranks say it:\n");
  ::kill(job, stage == 0 ? SIGUSR1 : stage == 1 ? SIGTERM : SIGKILL);
  return stage == 0 ? kAnswerMs : kTermMs;
}

}  // namespace

int run_with_limit(char* const* words, double seconds) {
  ::signal(SIGCHLD, SIG_DFL);  // a parent may have ignored it
  sigset_t mine, before;
  ::sigemptyset(&mine);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
    ::sigaddset(&mine, signal);
  ::sigprocmask(SIG_BLOCK, &mine, &before);
  const pid_t job = start(words, before);
  if (job < 0) return std::fprintf(stderr, "mpirun: cannot start it: %s\n", std::strerror(errno)), 2;
  int stage = 0, status = 0;
  for (long next = now_ms() + long(seconds * 1000);;) {
    const long left = std::max(0L, next - now_ms());
    const timespec pause{left / 1000, left % 1000 * 1'000'000};
    siginfo_t info;
    const int signal = ::sigtimedwait(&mine, &info, &pause);
    if (signal == SIGCHLD && ::waitpid(job, &status, WNOHANG) == job) break;
    // What the terminal sends, the launcher gets, too.
    if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL) ::kill(job, signal);
    if (signal < 0 && errno == EAGAIN) next = now_ms() + go_on_to_end(stage++, job);
  }
  if (stage > 0) {
    std::fprintf(stderr, "mpirun: the job did not end within %g s (--timeout)\n", seconds);
    return 124;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace dunlin::launcher
