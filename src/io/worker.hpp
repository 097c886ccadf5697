// The thread that reads and writes files while the program goes on.  One a process, begun by the first
// nonblocking access that is worth it.
//
// Used by io/transfer.cpp and io/collective.cpp.  It knows nothing of MPI's objects and takes no lock of
// theirs.
// Thread safety: `hand_over` by any thread.
#pragma once

#include "transport/shm/commons.hpp"
#include "transport/transport.hpp"

namespace dunlin::io {

/// A piece of work on its way.  Everything in it stays as it is until `done` is 1.
struct Job {
  void (*work)(void* argument) noexcept = nullptr;
  void* argument = nullptr;
  transport::Transport* sleeper = nullptr;  // where the program's wait may sleep: woken at the end
  transport::shm::Number done = 0;          // written by the worker
  Job* next = nullptr;                      // the worker's
};

/// Jobs are done in the order of their coming.
void hand_over(Job& job) noexcept;

}  // namespace dunlin::io
