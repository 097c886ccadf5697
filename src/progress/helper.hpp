// One thread of the library's own, which goes on with what must not wait while the program computes:
// one-sided operations that this process has to carry out (rma/messages.hpp).
//
//   want         whoever will need it makes it; not where ranks share cores, unless DUNLIN_HELPER says so
//   ring         a peer of this node rings behind a message that it is to see (transport/shm/bell.hpp); until
//                then it sleeps
//   expect_help  while work for it is under way (progress/engine.hpp) it polls, and then with patience: a
//                nap between looks, at most 5 ms.  So it does for a window over several nodes as long as
//                that lives, because nobody rings from afar
//
// Until it exists nothing is slower: no lock is taken, no shortcut closed.  From then on base/big_lock.hpp is
// needed.
//
// Thread safety: `want` and `stop` under base/big_lock.hpp.  The thread polls under it, and only while no
// thread of the program waits: that one polls for all.
#pragma once

#include "progress/engine.hpp"
#include "transport/shm/bell.hpp"

namespace dunlin::progress {

class Helper {
 public:
  /// Has it look, or makes it where it is allowed; `bell` is this process's, or null where it is alone on
  /// its node.  To be called last in a call of the program: from then on it may poll, and that call does not
  /// hold the lock.
  static void want(Engine& engine, transport::shm::Bell* bell) noexcept;
  /// Has it look, where there is one.
  static void ring() noexcept;
  /// Ends it, at finalize; gives the lock up meanwhile.
  static void stop() noexcept;
};

}  // namespace dunlin::progress
