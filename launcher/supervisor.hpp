// Runs one job: starts the ranks, waits, decides when the job has failed, ends what is left.  Called by
// main.cpp in the worker process (guard.hpp).
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "boot/launch_page.hpp"
#include "launcher/binding.hpp"
#include "launcher/deadlock.hpp"
#include "launcher/event_loop.hpp"
#include "launcher/input.hpp"
#include "launcher/job.hpp"
#include "launcher/output.hpp"
#include "launcher/pmi_server.hpp"
#include "launcher/start.hpp"

namespace dunlin::launcher {

class Supervisor {
 public:
  explicit Supervisor(const Job& job);
  ~Supervisor();

  /// From the first start to the last descendant's end; returns mpirun's exit code.
  int run();

 private:
  struct Rank {
    pid_t pid = -1;
    int app = 0;
    bool is_running = false;
  };

  void attend(int wait_ms);
  void end_with_guard();
  void prepare();
  bool try_start_all();
  bool try_start(int rank, const Starter& starter);
  bool try_open_files(int rank, RankSetup& setup);
  void on_signal();
  void stop_with_terminal();
  void reap();
  void rank_ended(int rank, int status);
  void report_stop(int rank, int signal);
  void report_abort(int rank, int code);
  void check_initialized();
  void check_deadlock();
  std::vector<pid_t> pids() const;
  bool is_mpi_job() const;
  void ask_for_waits(const std::string& title);
  void show_waits(bool is_deadlock);
  void check_clock();
  int next_wait_ms() const;

  /// Records the first failure, says it, and ends the job after `grace_ms`.
  void fail(int exit_code, const std::string& text, int grace_ms);
  void send_to_ranks(int signal);
  std::string name_of(int rank) const;
  void end_groups();
  void finish();

  const Job& job_;
  EventLoop loop_;
  Output output_;
  Input input_;
  PmiServer pmi_;
  BindingPlan binding_;
  boot::LaunchPage* page_ = nullptr;
  int node_fd_ = -1;
  int signal_fd_ = -1;
  int life_[2] = {-1, -1};  // a pipe whose end tells processes behind wrappers that this one has died
  std::vector<Rank> ranks_;
  std::unordered_map<pid_t, int> rank_of_pid_;
  int running_ = 0;
  bool is_stopping_ = false;  // Ctrl-Z: that ranks stop is our doing

  // Failure.  Times are milliseconds of the monotonic clock; 0: not set.
  bool is_failed_ = false;
  long memory_kills_at_start_ = 0;
  bool is_hurried_ = false;  // told to end without waiting for readers of our output
  int exit_code_ = 0;
  int end_signal_ = SIGTERM;  // what ranks get first
  long failed_at_ = 0;
  long end_at_ = 0;   // when they get it
  long kill_at_ = 0;  // when they get SIGKILL
  long timeout_at_ = 0;
  long ask_at_ = 0;         // for what is shown at the timeout
  long show_waits_at_ = 0;  // because somebody asked
  long check_initialized_at_ = 0;
  std::optional<DeadlockWatch> deadlock_;  // unless DUNLIN_DEADLOCK=ignore
  long check_deadlock_at_ = 0;
};

}  // namespace dunlin::launcher
