// Barrier by dissemination: in round k every rank tells the one 2^k behind it and hears the one 2^k before
// it.
//
// Cost: ceil(lg p) * alpha.  Source: Hensgen, Finkel, Manber, "Two Algorithms for Barrier Synchronization",
// IJPP 17(1), 1988.  Trace for p = 3: round 1: 0->1, 1->2, 2->0; round 2: 0->2, 1->0, 2->1; then each has
// heard of everybody.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task barrier_dissemination(Cx cx) {
  for (int distance = 1; distance < cx.size; distance *= 2) {
    const int to = cx.wrapped(cx.rank + distance);
    const int from = cx.wrapped(cx.rank - distance);
    co_await cx.sendrecv(Source{}, to, Target{}, from);
  }
  co_return Err::ok;
}

}  // namespace dunlin::coll
