// The collective that needs no messages: of one rank, or without data where all ranks share memory.
//
// A rank without data takes its turn in shared memory nevertheless.  Where it is the only one without, that
// is an error of the program; but a rank that had skipped a turn would take what was put there for the data
// of its next collective, and so for ever.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task nothing(Cx cx, int first, int members) {
  if (!cx.share_memory()) co_return Err::ok;
  const Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  turn.arrive(0);
  for (int member = first; member < first + members; ++member) {
    co_await cx.until(turn.is_there(member));
    (void)cx.agrees(turn, member, 0);
  }
  turn.leave(false);
  co_return Err::ok;
}

}  // namespace dunlin::coll
