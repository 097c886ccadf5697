// Barrier in shared memory: every member raises its flag and looks at those of all others.
//
// Cost: one line written, p-1 read; with more ranks than CPUs each waits once.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task barrier_shared(Cx cx) {
  const Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  turn.arrive(0);
  co_await cx.until_last(turn, turn.all_are_there());
  turn.leave(true);
  co_return Err::ok;
}

}  // namespace dunlin::coll
