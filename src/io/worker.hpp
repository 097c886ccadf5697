// The thread that reads and writes files while the program goes on.  One a process, begun by the first
// nonblocking access that is worth it.
//
// Used by io/collective.cpp and io/read_queue.cpp, whose reads are jobs of it, too, and io/transfer.cpp.  It
// knows nothing of MPI's objects and takes no lock of theirs.
// Thread safety: `hand_over` by any thread.
#pragma once

#include <utility>

#include "transport/shm/commons.hpp"
#include "transport/transport.hpp"

namespace dunlin::io {

/// A piece of work on its way.  Everything in it stays as it is until `done` is 1.
struct Job {
  void (*work)(void* argument) noexcept = nullptr;
  void (*announce)(void* argument) noexcept = nullptr;  // before its turn comes; null: nothing to tell
  void* argument = nullptr;
  transport::Transport* sleeper = nullptr;  // where the program's wait may sleep: woken at the end
  transport::shm::Number done = 0;          // written by who does it
  Job* next = nullptr;                      // of who has it
};

/// Jobs in the order of their coming.
class Jobs {
 public:
  bool is_empty() const noexcept { return !first_; }
  void add(Job& job) noexcept {
    job.next = nullptr;
    (first_ ? last_->next : first_) = &job;
    last_ = &job;
  }
  /// The first one, which is there.
  Job& take() noexcept { return *std::exchange(first_, first_->next); }

 private:
  Job* first_ = nullptr;
  Job* last_ = nullptr;
};

/// Jobs are done in the order of their coming.
void hand_over(Job& job) noexcept;

/// The end of a job, by who has done it: the program hears of it, and it may be gone.
void complete(Job& job) noexcept;

}  // namespace dunlin::io
