// The collective that needs no messages (one rank, or no data), and the end of one that has reserved a turn
// and may not have taken it.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task nothing(Cx) { co_return Err::ok; }

Task leave(Cx cx, const Reservation* turn) {
  co_await cx.until(turn->can_leave());
  turn->leave();
  co_return Err::ok;
}

}  // namespace dunlin::coll
