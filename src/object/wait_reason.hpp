// What a wait is for, in numbers and words: for the report of a hang in this process, and for mpirun's table
// of who waits for whom (boot/wait_board.hpp).  Filled in by `Request::explain` and by the calls that wait
// for something else than a request.
#pragma once

#include <cstdint>

#include "object/collective_call.hpp"

namespace dunlin {

struct WaitReason {
  static constexpr std::int32_t kNone = -1;  // the wait is for nobody alone; there is no tag
  static constexpr std::int32_t kAny = -2;   // a wildcard

  std::int32_t peer = kNone;  // rank in the job
  std::int32_t tag = kNone;
  std::int32_t number = 0;       // collectives: which one on the communicator, from 1; others: 0
  bool is_held_back = false;     // the peer holds it up: that is reported without being asked
  std::int32_t started = 0;      // collectives on the communicator so far
  CollectiveCall recent[kCallsRemembered] = {};  // the last ones, number n at (n - 1) % kCallsRemembered
  std::uint64_t context = 0;                     // of the communicator, the same on all its members
  char what[112] = "something";  // "a message", continued by "from rank 1, tag 5" in reports
  char comm[64] = "";            // the communicator's name, or words for one that has none
  char hint[192] = "";           // a sentence where this rank has seen what is wrong; else empty
};

}  // namespace dunlin
