// Starts one rank: its environment, descriptors, binding and process group.  Called by supervisor.cpp.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "launcher/job.hpp"

namespace dunlin::launcher {

/// What a rank gets from its launcher.
struct RankSetup {
  int rank = 0;
  int size = 1;
  int app = 0;
  int node_fd = -1;
  int life_fd = -1;  // boot/launch_environment.hpp
  int pmi_fd = -1;
  int files[3] = {0, 1, 2};                // become descriptors 0, 1, 2
  const std::vector<int>* cpus = nullptr;  // null: not bound
};

/// The outcome: a pid, or what failed ("cannot start it: ...") and its errno.
struct Started {
  pid_t pid = -1;
  int error = 0;
  std::string reason;
};

/// Prepares what all ranks of a job share, once.
class Starter {
 public:
  explicit Starter(const Job& job);

  /// Starts a process in a group of its own that dies when mpirun dies.  mpirun stands still until the
  /// program is loaded (vfork), which costs no copy of mpirun's memory and makes failures known at once.
  Started start(const RankSetup& setup) const;

 private:
  const Job& job_;
  // Of each app: "NAME=VALUE" without what differs by rank, and the program as given to exec.
  std::vector<std::vector<std::string>> environments_;
  std::vector<std::string> programs_;
  std::vector<bool> is_machine_code_;  // of each program that is named by a path
};

/// "NAME=VALUE" of a program, without what differs by rank: mpirun's own environment without other launchers'
/// variables, what options set, and the shared heap in LD_PRELOAD unless it is not wanted.
std::vector<std::string> environment_of(const App& app);

/// As many ranks as the limits of processes and descriptors can allow.
long ranks_max();

/// Lets mpirun hold as many descriptors as the system permits: it needs three for each rank.  Ranks get the
/// limit that mpirun was started with.
void raise_descriptor_limit();

}  // namespace dunlin::launcher
