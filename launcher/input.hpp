// Standard input of rank 0.  Used by supervisor.cpp.
#pragma once

#include <string>

#include "launcher/event_loop.hpp"

namespace dunlin::launcher {

/// A file or pipe is handed to rank 0 as it is: no byte passes through mpirun, and what rank 0 does not
/// read stays for whoever reads after mpirun.  A terminal is read by mpirun and passed on, because rank 0
/// runs in a process group of its own and would be stopped by the terminal; while mpirun runs in the
/// background nothing is read.
class Input {
 public:
  explicit Input(EventLoop& loop);
  ~Input();
  Input(const Input&) = delete;

  /// What rank 0 gets as descriptor 0 (the caller closes it after the start if it is above 2).
  int open_for_rank0();
  /// Looks again whether mpirun is in the foreground, as long as it is not: nobody tells a job that runs.
  void look();
  /// Milliseconds until `look` should be called again; -1: no need.
  long wait_ms() const noexcept;

 private:
  bool wants_terminal() const noexcept;
  void watch_terminal();
  void read_terminal();
  void write_pipe();
  void close_pipe();

  EventLoop& loop_;
  int pipe_ = -1;        // our end towards rank 0
  std::string waiting_;  // read from the terminal, not yet taken by the pipe
  bool is_terminal_watched_ = false;
  bool is_pipe_watched_ = false;
  bool is_at_end_ = false;  // the user typed the end of input
};

}  // namespace dunlin::launcher
