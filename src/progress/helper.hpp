// One thread of the library's own, which goes on with what must not wait while the program computes:
// one-sided operations that this process has to carry out (rma/messages.hpp), nonblocking collectives.
//
//   want         whoever will need it makes it: not where ranks share CPUs, and only for the sake of overlap
//                where they leave one free, unless DUNLIN_HELPER says so.  A collective that all other ranks
//                could end without this one needs none: a short one in shared memory
//   ring         a peer of this node rings behind a message that it is to see (transport/shm/bell.hpp); until
//                then it sleeps
//   expect_help  while work for it is under way (progress/engine.hpp) it polls, and then with patience: a
//                nap between looks, at most 5 ms.  So it does for a window over several nodes as long as
//                that lives, because nobody rings from afar, and for collectives, because flags do not ring
//
// It calls no function of the program's: an operator made with MPI_Op_create may want what the program's
// threads hold while they call MPI (the lock of a Python interpreter), and waits for one of them instead.
//
// Until it exists nothing is slower: no lock is taken, no shortcut closed.  From then on base/big_lock.hpp is
// needed.
//
// Thread safety: `want` and `stop` under base/big_lock.hpp.  The thread polls under it, and only while no
// thread of the program waits: that one polls for all.
#pragma once

#include <cstdint>

#include "progress/engine.hpp"

namespace dunlin::progress {

class Helper {
 public:
  enum class For : std::uint8_t {
    others,   // who may wait for this process as long as it computes
    overlap,  // this process, which would do the work itself in its next call
  };
  /// Has it look, or makes it where it is allowed.  To be called last in a call of the program: from then on
  /// it may poll, and that call does not hold the lock.
  static void want(Engine& engine, For whom) noexcept;
  /// Has it look, where there is one.
  static void ring() noexcept;
  static bool is_there() noexcept;
  /// Whether the calling thread is it.
  static bool is_this_thread() noexcept;
  /// Ends it, at finalize; gives the lock up meanwhile.
  static void stop() noexcept;
};

}  // namespace dunlin::progress
