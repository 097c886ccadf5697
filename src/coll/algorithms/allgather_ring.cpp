// Allgather of long or unequal blocks: every block goes once round the ring.  Serves allgather and
// allgatherv.
//
// Cost: (p-1) * alpha + (p-1)/p * n beta, n bytes altogether; no copies.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task allgather_ring(Cx cx, Blocks all) {
  const int right = cx.wrapped(cx.rank + 1), left = cx.wrapped(cx.rank - 1);
  for (int step = 0; step < cx.size - 1; ++step) {
    const Block out = all[cx.wrapped(cx.rank - step)];
    const Block in = all[cx.wrapped(cx.rank - step - 1)];
    cx.post_send(out.source(), right);
    cx.post_recv(in.target(), left);
    co_await cx.all();
  }
  co_return Err::ok;
}

}  // namespace dunlin::coll
