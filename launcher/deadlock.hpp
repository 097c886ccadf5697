// Finds out that no rank of the job can ever go on.  Used by supervisor.cpp; docs/decisions/0018-deadlock.md
// has the proof that what is found is a deadlock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "boot/launch_page.hpp"

namespace dunlin::launcher {

class DeadlockWatch {
 public:
  /// `pids`: of each rank; -1: it has ended.
  DeadlockWatch(boot::LaunchPage& page, std::vector<pid_t> pids) : page_(page), pids_(std::move(pids)) {}

  void ended(int rank) { pids_[std::size_t(rank)] = -1; }
  /// Looks once; true, once for each deadlock, where nothing can move any more.
  bool look();
  /// Milliseconds until the next look is due.
  int pause_ms() const noexcept { return stage_ == Stage::apart || stage_ == Stage::told ? 1000 : 250; }

 private:
  /// Of one rank, at the begin of a stage.
  struct Seen {
    std::uint32_t changes = 0;
    std::uint32_t rounds = 0;
    std::string threads;  // those that do not wait in MPI
    bool operator==(const Seen&) const = default;
  };
  enum class Stage : std::uint8_t {
    apart,   // some rank does not wait
    first,   // all wait, since `seen_`
    second,  // all have looked since and found nothing
    told,    // and again: a deadlock
  };
  enum class Answer : std::uint8_t { yes, no, out_of_it };
  Answer is_waiting(int rank, Seen& seen) const;

  boot::LaunchPage& page_;
  std::vector<pid_t> pids_;
  Stage stage_ = Stage::apart;
  std::vector<Seen> seen_;  // at the begin of `stage_`, of the ranks that are not out of it
};

}  // namespace dunlin::launcher
