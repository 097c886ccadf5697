// Barrier of an inter-communicator: all of a group have arrived, the two first ranks tell each other, all are
// told.
//
// Cost: (2 * ceil(lg p) + 1) * alpha with p the larger group.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task barrier_inter(Cx cx) {
  co_await barrier_dissemination(cx.local());
  if (cx.rank == 0) co_await cx.sendrecv(Source{}, 0, Target{}, 0);
  co_await barrier_dissemination(cx.local());
  co_return Err::ok;
}

}  // namespace dunlin::coll
