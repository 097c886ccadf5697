// Running a job; see supervisor.hpp.
#include "launcher/supervisor.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/assert.hpp"
#include "launcher/clock.hpp"
#include "launcher/descendants.hpp"
#include "launcher/give_up.hpp"
#include "launcher/guard.hpp"
#include "launcher/start.hpp"
#include "launcher/threads.hpp"
#include "launcher/wait_table.hpp"
#include "os/cpus.hpp"
#include "os/grow_file.hpp"
#include "os/text_file.hpp"

namespace dunlin::launcher {
namespace {

using boot::RankState;

constexpr int kPoliteMs = 250;        // from the first signal to SIGKILL
constexpr int kOutsideGraceMs = 400;  // for the others, when a rank failed that was not inside MPI
constexpr int kCheckMs = 200;         // between looks for ranks that ended without MPI_Init
constexpr int kOrphanMs = 100;        // for what ranks left behind, after the last rank's end
constexpr int kKillMs = 500;          // for the kernel to end what got SIGKILL
constexpr int kDeadlockCode = 123;    // exit code
constexpr int kSameSignalMs = 50;     // fingers are slower
constexpr int kStuckReaderMs = 500;   // for whoever reads nothing of our output, once we were told to hurry

/// How many processes the kernel has ended for lack of memory since it started, also in control groups.
long out_of_memory_kills() {
  const std::string text = os::read_text_file("/proc/vmstat");
  const std::size_t at = text.find("oom_kill ");
  return at == std::string::npos ? 0 : std::atol(text.c_str() + at + 9);
}

std::vector<int> apps_of_ranks(const Job& job) {
  std::vector<int> apps;
  for (std::size_t app = 0; app < job.apps.size(); ++app)
    apps.insert(apps.end(), std::size_t(job.apps[app].ranks), int(app));
  return apps;
}

}  // namespace

Supervisor::Supervisor(const Job& job)
    : job_(job),
      output_(loop_, job.size(), job.tags_output),
      input_(loop_),
      pmi_(loop_, apps_of_ranks(job)),
      ranks_(std::size_t(job.size())) {
  const std::vector<int> apps = apps_of_ranks(job);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) ranks_[rank].app = apps[rank];
  pmi_.on_init = [this](int rank) { page_->try_begin(rank); };
  pmi_.on_finalize = [this](int rank) { page_->set_state(rank, RankState::finalized); };
  pmi_.on_abort = [this](int rank, int code) { report_abort(rank, code); };
}

Supervisor::~Supervisor() {
  boot::unmap_launch_page(page_, job_.size());
  for (const int fd : {node_fd_, signal_fd_, life_[0], life_[1]})
    if (fd >= 0) ::close(fd);
}

int Supervisor::run() {
  prepare();
  if (try_start_all() && boot::deadlock_action() != boot::DeadlockAction::ignore) {
    deadlock_.emplace(*page_, pids());
    check_deadlock_at_ = now_ms() + deadlock_->pause_ms();
  }
  while (running_ > 0) attend(next_wait_ms());
  finish();
  return exit_code_ != 0 ? exit_code_ : output_.exit_code();
}

/// Waits at most so long for something to do, and does it.
void Supervisor::attend(int wait_ms) {
  loop_.wait(wait_ms);
  output_.show_unfinished();
  input_.look();
  check_clock();
  end_with_guard();
}

/// Without the guard nobody waits for our output or exit code any more.
void Supervisor::end_with_guard() {
  if (!is_guard_dead()) return;
  end_descendants(kKillMs);
  ::_exit(128 + SIGKILL);
}

void Supervisor::prepare() {
  sigset_t signals = handled_signals();
  sigaddset(&signals, SIGWINCH);
  sigset_t blocked = signals;
  sigaddset(&blocked, SIGTTIN);  // a read from the background fails instead of stopping us
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  signal_fd_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd_ < 0) give_up("get signals as input (signalfd)");
  loop_.try_watch(signal_fd_, EPOLLIN, [this](std::uint32_t) { on_signal(); });
  memory_kills_at_start_ = out_of_memory_kills();
  binding_ = plan_binding(job_);
  if (!binding_.complaint.empty()) output_.say(binding_.complaint);
  node_fd_ = boot::make_node_segment(job_.size(), binding_.cpus_usable, binding_.near);
  if (node_fd_ < 0) give_up("make shared memory for the job (memfd_create)", os::why_no_shared_memory(errno));
  page_ = boot::map_launch_page(node_fd_, job_.size());
  if (!page_) give_up("map the shared memory of the job");
  if (::pipe2(life_, O_CLOEXEC) != 0) give_up("make a pipe");
  for (const int inherited : {node_fd_, life_[0]}) ::fcntl(inherited, F_SETFD, 0);
  if (job_.timeout_s > 0) {
    timeout_at_ = now_ms() + long(job_.timeout_s * 1000);
    ask_at_ = timeout_at_ - kTestsMs;
  }
}

/// Thousands of ranks take seconds: what happens meanwhile does not wait for the last one.
bool Supervisor::try_start_all() {
  raise_descriptor_limit();
  const Starter starter(job_);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!try_start(int(rank), starter)) return false;
    attend(0);
    if (kill_at_ != 0) return false;  // those that run have been told to end
  }
  return true;
}

/// What the rank inherits; false with errno at the first that is refused.
bool Supervisor::try_open_files(int rank, RankSetup& setup) {
  setup.files[0] = setup.files[1] = setup.files[2] = -1;
  if ((setup.pmi_fd = pmi_.open_for_rank(rank)) < 0) return false;
  ::fcntl(setup.pmi_fd, F_SETFD, 0);
  const bool reads = rank == 0 && job_.has_input;
  setup.files[0] = reads ? input_.open_for_rank0() : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (setup.files[0] < 0) return false;
  if ((setup.files[1] = output_.open_stdout(rank)) < 0) return false;
  return (setup.files[2] = output_.open_stderr(rank, setup.files[1])) >= 0;
}

bool Supervisor::try_start(int rank, const Starter& starter) {
  Rank& self = ranks_[std::size_t(rank)];
  RankSetup setup;
  setup.rank = rank;
  setup.size = job_.size();
  setup.app = self.app;
  setup.node_fd = node_fd_;
  setup.life_fd = life_[0];
  if (!binding_.cpus_of_rank.empty()) setup.cpus = &binding_.cpus_of_rank[std::size_t(rank)];
  if (setup.cpus && job_.shows_binding)
    output_.say("rank " + std::to_string(rank) + " may use CPUs " + os::format_cpu_list(*setup.cpus));
  Started started;
  if (!try_open_files(rank, setup))
    started = {
        -1, errno,
        std::string("cannot open its descriptors (a socket, pipes, /dev/null): ") + std::strerror(errno)};
  else
    started = starter.start(setup);
  if (setup.pmi_fd >= 0) ::close(setup.pmi_fd);
  for (const int file : setup.files)
    if (file > STDERR_FILENO) ::close(file);
  if (started.pid > 0) {
    self.pid = started.pid;
    self.is_running = true;
    rank_of_pid_[started.pid] = rank;
    ++running_;
    // Both sides set the group, so that a signal to it never comes too early.
    ::setpgid(started.pid, started.pid);
  }
  if (started.error == 0) return true;
  fail(started.error == EACCES || started.error == ENOEXEC ? 126 : 127,
       "rank " + std::to_string(rank) + " (" + job_.apps[std::size_t(self.app)].command[0] +
           "): " + started.reason,
       0);
  return false;
}

void Supervisor::on_signal() {
  signalfd_siginfo info;
  while (::read(signal_fd_, &info, sizeof info) == ssize_t(sizeof info)) {
    const int signal = int(info.ssi_signo);
    if (signal == SIGCHLD) {
      reap();
    } else if (signal == SIGQUIT) {
      ask_for_waits("who waits for whom (SIGQUIT; the job goes on):");
    } else if (signal == SIGUSR1 || signal == SIGUSR2) {
      if (signal == SIGUSR1) ask_for_waits("who waits for whom (SIGUSR1; the job goes on):");
      for (const Rank& rank : ranks_)  // the programs only, not what they started
        if (rank.is_running && (signal != SIGUSR1 || takes_signal(rank.pid, signal)))
          ::kill(rank.pid, signal);
    } else if (signal == SIGCONT) {
      send_to_ranks(SIGCONT);
    } else if (signal == SIGWINCH) {
      output_.follow_size();
      send_to_ranks(SIGWINCH);
    } else if (signal == SIGTSTP) {
      stop_with_terminal();
    } else {
      // To a whole group it comes twice: by itself and from the guard.
      const bool is_second = is_failed_ && now_ms() - failed_at_ >= kSameSignalMs;
      is_hurried_ = is_hurried_ || is_second || signal != SIGINT;
      end_signal_ = signal;
      fail(128 + signal,
           std::string("ended by signal ") + std::to_string(signal) + " (" + ::strsignal(signal) + ")", 0);
    }
  }
}

/// Ctrl-Z: the ranks stop first, then mpirun; they go on with it.
void Supervisor::stop_with_terminal() {
  send_to_ranks(SIGSTOP);
  is_stopping_ = true;
  stop_until_continued();
  reap();
  is_stopping_ = false;
  send_to_ranks(SIGCONT);
}

void Supervisor::reap() {
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    const auto found = rank_of_pid_.find(pid);
    if (found == rank_of_pid_.end()) continue;  // an orphan of some rank
    const int rank = found->second;
    if (WIFSTOPPED(status)) {
      report_stop(rank, WSTOPSIG(status));
      continue;
    }
    rank_of_pid_.erase(found);
    ranks_[std::size_t(rank)].is_running = false;
    if (deadlock_) deadlock_->ended(rank);
    --running_;
    pmi_.drain(rank);
    output_.drain(rank);
    rank_ended(rank, status);
  }
}

/// Ranks have groups of their own, so a terminal stops them, and the shell does not see it.
void Supervisor::report_stop(int rank, int signal) {
  if (is_stopping_) return;  // by Ctrl-Z, with mpirun
  if (signal == SIGTTIN)
    output_.say(name_of(rank) + " is stopped: it read from the terminal; ranks can read standard input only");
  else if (signal == SIGTTOU)
    output_.say(name_of(rank) +
                " is stopped: it wrote to the terminal itself (/dev/tty), or changed its mode");
  else
    output_.say(name_of(rank) + " is stopped by signal " + std::to_string(signal) + " (" +
                ::strsignal(signal) + "); \"kill -CONT\" lets it go on");
}

/// Decides whether this end is a failure of the job.
void Supervisor::rank_ended(int rank, int status) {
  const RankState state = page_->state(rank);
  if (const int who = page_->abort_rank.load(std::memory_order_relaxed);
      page_->is_aborted() && who >= 0 && who < job_.size())
    return report_abort(who, page_->abort_code);
  if (is_failed_) return;  // we ended it, or it followed the first
  const int grace_ms = state == RankState::initialized ? 0 : kOutsideGraceMs;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const bool lacks_memory = signal == SIGKILL && out_of_memory_kills() > memory_kills_at_start_;
    fail(128 + signal,
         name_of(rank) + " was killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) +
             (WCOREDUMP(status) ? ", core dumped)" : ")") +
             (lacks_memory ? "; meanwhile the kernel ended a process because memory had run out" : ""),
         grace_ms);
    return;
  }
  const int code = WEXITSTATUS(status);
  const std::string exited = name_of(rank) + " exited with code " + std::to_string(code);
  if (state == RankState::initialized)
    fail(code ? code : 1, exited + " without calling MPI_Finalize", grace_ms);
  else if (code != 0)
    fail(code, exited, grace_ms);
  else if (state == RankState::started && running_ > 0 && check_initialized_at_ == 0)
    check_initialized_at_ = now_ms() + kCheckMs;
  else if (state == RankState::finalized)
    pmi_.leave(rank);
}

void Supervisor::report_abort(int rank, int code) {
  const char* const message = page_->abort_message;
  const std::string why(message,
                        page_->is_aborted() ? ::strnlen(message, boot::LaunchPage::kMessageBytes) : 0);
  const std::string text =
      name_of(rank) + ' ' + (why.empty() ? "called MPI_Abort with error code " + std::to_string(code) : why);
  const int exit_code = code & 0xff;
  fail(exit_code ? exit_code : 1, text, 0);
}

/// A rank that ended in good order but never called MPI_Init, while another one did: MPI_COMM_WORLD lacks a
/// member, and the others would wait for it for ever.
void Supervisor::check_initialized() {
  int absent = -1, present = -1;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const RankState state = page_->state(int(rank));
    const bool has_ended = !ranks_[rank].is_running && ranks_[rank].pid > 0;
    if (has_ended && state == RankState::started && absent < 0) absent = int(rank);
    if (ranks_[rank].is_running && state == RankState::initialized && present < 0) present = int(rank);
  }
  if (absent >= 0 && present >= 0)
    fail(1,
         name_of(absent) + " exited with code 0 without calling MPI_Init, and rank " +
             std::to_string(present) + " has called it",
         0);
}

void Supervisor::check_deadlock() {
  const bool is_found = !is_failed_ && deadlock_->look();
  check_deadlock_at_ = is_failed_ ? 0 : now_ms() + deadlock_->pause_ms();
  if (!is_found) return;
  output_.say("deadlock: every rank waits, and no message is under way:");
  show_waits(true);
  if (boot::deadlock_action() != boot::DeadlockAction::end) return;
  fail(kDeadlockCode, "the job is ended, since it cannot go on (DUNLIN_DEADLOCK=report only reports it)", 0);
}

/// The table comes when the ranks have had time to tell what they test.
void Supervisor::ask_for_waits(const std::string& title) {
  output_.say(title);
  if (show_waits_at_ != 0) return;
  ask_for_tests(*page_, job_.size());
  show_waits_at_ = now_ms() + kTestsMs;
}

void Supervisor::show_waits(bool is_deadlock) {
  for (const std::string& line : wait_table(*page_, pids(), is_deadlock)) output_.say(line);
}

std::vector<pid_t> Supervisor::pids() const {
  std::vector<pid_t> pids;
  for (const Rank& rank : ranks_) pids.push_back(rank.is_running ? rank.pid : -1);
  return pids;
}

/// Whether any rank that runs has begun to use MPI: one that has ended its use of it may wait in its exit.
bool Supervisor::is_mpi_job() const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].is_running && page_->state(int(rank)) >= RankState::initialized) return true;
  return false;
}

void Supervisor::check_clock() {
  const long now = now_ms();
  if (ask_at_ != 0 && now >= ask_at_) {
    ask_at_ = 0;
    ask_for_tests(*page_, job_.size());
  }
  if (show_waits_at_ != 0 && now >= show_waits_at_) {
    show_waits_at_ = 0;
    show_waits(false);
  }
  if (timeout_at_ != 0 && now >= timeout_at_) {
    timeout_at_ = 0;
    is_hurried_ = true;
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", job_.timeout_s);
    if (is_mpi_job()) {
      output_.say("who waits for whom at the end of --timeout:");
      show_waits(false);
    }
    fail(124, std::string("the job did not end within ") + seconds + " s (--timeout)", 0);
  }
  if (check_initialized_at_ != 0 && now >= check_initialized_at_) {
    check_initialized_at_ = now + kCheckMs;
    if (!is_failed_) check_initialized();
  }
  if (check_deadlock_at_ != 0 && now >= check_deadlock_at_) check_deadlock();
  if (end_at_ != 0 && now >= end_at_) {
    end_at_ = 0;
    kill_at_ = now + kPoliteMs;
    send_to_ranks(end_signal_);
    send_to_ranks(SIGCONT);  // a stopped process takes no signal
  }
  if (kill_at_ != 0 && now >= kill_at_) {
    kill_at_ = now + kPoliteMs;  // again, should a rank have changed its group meanwhile
    send_to_ranks(SIGKILL);
  }
}

int Supervisor::next_wait_ms() const {
  long at = 0;
  for (const long each :
       {timeout_at_, ask_at_, show_waits_at_, check_initialized_at_, check_deadlock_at_, end_at_, kill_at_})
    if (each != 0 && (at == 0 || each < at)) at = each;
  long wait = at == 0 ? -1 : std::max(0L, at - now_ms());
  for (const long other : {output_.wait_ms(), input_.wait_ms()})
    if (other >= 0 && (wait < 0 || wait > other)) wait = other;
  return int(std::min(wait, 3600L * 1000));
}

void Supervisor::fail(int exit_code, const std::string& text, int grace_ms) {
  if (is_failed_) return;
  is_failed_ = true;
  exit_code_ = exit_code;
  output_.say(text);
  failed_at_ = now_ms();
  end_at_ = failed_at_ + grace_ms;
}

void Supervisor::send_to_ranks(int signal) {
  for (const Rank& rank : ranks_) {
    if (!rank.is_running) continue;
    if (::kill(-rank.pid, signal) != 0) ::kill(rank.pid, signal);
  }
}

std::string Supervisor::name_of(int rank) const {
  DUNLIN_ASSERT(rank >= 0 && rank < int(ranks_.size()));
  const Rank& self = ranks_[std::size_t(rank)];
  return "rank " + std::to_string(rank) + " (" + job_.apps[std::size_t(self.app)].command[0] + ", process " +
         std::to_string(self.pid) + ")";
}

/// What is left of the ranks' own groups: all that can be found where /proc is not mounted.  A group in which
/// a child of ours still runs has not been given to others.
void Supervisor::end_groups() {
  for (const Rank& rank : ranks_) {
    if (rank.pid <= 0) continue;
    pid_t ended;
    do ended = ::waitpid(-rank.pid, nullptr, WNOHANG);
    while (ended > 0);
    if (ended == 0) ::kill(-rank.pid, SIGKILL);
  }
}

/// All ranks have ended.  What they left running has a moment to write its last words, unless the job failed.
/// Then only a reader can keep us, as it would keep a program that writes to a pipe.
void Supervisor::finish() {
  const long limit = now_ms() + kOrphanMs;
  while (!is_failed_ && !output_.is_over() && now_ms() < limit && !children().empty()) {
    loop_.wait(10);
    reap();
  }
  end_groups();
  end_descendants(kKillMs);
  std::size_t taken_bytes = output_.taken_bytes();
  long taken_at = now_ms();
  while (!output_.try_finish()) {
    loop_.wait(kCheckMs);
    end_with_guard();
    if (output_.taken_bytes() != taken_bytes) taken_at = now_ms();
    taken_bytes = output_.taken_bytes();
    if (is_hurried_ && now_ms() - taken_at >= kStuckReaderMs) return output_.give_up();
  }
}

}  // namespace dunlin::launcher
