// The thread that reads and writes files while the program goes on.  One a process, begun by the first
// nonblocking access that is worth it.
//
// Used by io/transfer.cpp.  It knows nothing of MPI's objects and takes no lock of theirs.
// Thread safety: `hand_over` by any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "io/storage.hpp"
#include "transport/transport.hpp"

namespace dunlin::io {

/// An access on its way.  Everything in it stays as it is until `is_done`.
struct Job {
  const Storage* storage = nullptr;
  Access access;
  transport::Transport* sleeper = nullptr;  // where the program's wait may sleep: woken at the end
  Outcome outcome;                          // written by the worker before `is_done`
  std::atomic<bool> is_done = false;
  Job* next = nullptr;  // the worker's
};

/// Jobs are done in the order of their coming.
void hand_over(Job& job) noexcept;

}  // namespace dunlin::io
