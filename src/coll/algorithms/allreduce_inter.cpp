// Allreduce of an inter-communicator: each group gets the other group's reduction.
//
// Each group reduces to its first rank, the two exchange, each tells its group.
// Cost: (2 ceil(lg p) + 1) * (alpha + n beta) + ceil(lg p) * n gamma, p ranks in the larger group.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task allreduce_inter(Cx cx, Reduction r) {
  Reduction ours = r;
  if (cx.rank == 0) {
    ours.result = cx.take_elements(r.count, *r.type);
    if (!ours.result) co_return Err::no_mem;
  }
  co_await reduce_binomial(cx.local(), ours, 0);
  const Block theirs = r.block(r.result);
  if (cx.rank == 0) {
    const Block out = r.block(ours.result);
    co_await cx.sendrecv(out.source(), 0, theirs.target(), 0);
  }
  co_await bcast_binomial(cx.local(), theirs, 0);
  co_return Err::ok;
}

}  // namespace dunlin::coll
