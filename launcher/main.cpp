// mpirun, also called mpiexec: starts the ranks of a job on this machine, or has another launcher do it.
// docs/launcher.md tells what it promises.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "launcher/guard.hpp"
#include "launcher/hand_over.hpp"
#include "launcher/job.hpp"
#include "launcher/options.hpp"
#include "launcher/supervisor.hpp"
#include "os/answer.hpp"

namespace {

/// Descriptors 0, 1 and 2 exist, so that no pipe of ours gets one of these numbers.  Writing to one that was
/// closed still fails, so that lost output is said.
void open_standard_descriptors() {
  int fd;
  do fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

/// Writing beyond `ulimit -f` is an error like that of a full disk and does not end mpirun.  By a handler,
/// which the programs do not inherit as they would SIG_IGN.
void fail_at_size_limit() {
  struct sigaction action {};
  if (::sigaction(SIGXFSZ, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGXFSZ, &action, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  dunlin::launcher::Job job;
  int exit_code = 0;
  if (!dunlin::launcher::try_parse_command_line(argc, argv, job, exit_code))
    return exit_code != 0 ? exit_code : dunlin::os::end_answer("mpirun");
  if (!job.machines.empty()) return dunlin::launcher::hand_over(job);
  ::signal(SIGPIPE, SIG_IGN);
  fail_at_size_limit();
  // A parent that ignores these would hide from us the ends of the ranks, and of the guard.
  for (const int signal : {SIGCHLD, SIGCONT}) ::signal(signal, SIG_DFL);
  dunlin::launcher::split_into_guard_and_worker();
  return dunlin::launcher::Supervisor(job).run();
}
