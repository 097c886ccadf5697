// Reduce-scatter of an inter-communicator: each group reduces to its first rank, the two exchange, each
// scatters in its group what it got.
//
// Cost: (ceil(lg p) + p) * alpha + (lg p + 2) * n beta + lg p * n gamma, p ranks in the larger group.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task reduce_scatter_inter(Cx cx, Reduction r, Blocks parts) {
  Reduction ours = r;
  std::byte* theirs = nullptr;
  if (cx.rank == 0) {
    ours.result = cx.take_elements(r.count, *r.type);
    theirs = cx.take_elements(r.count, *r.type);
    if (!ours.result || !theirs) co_return Err::no_mem;
  }
  co_await reduce_binomial(cx.local(), ours, 0);
  if (cx.rank == 0) {
    const Block out = r.block(ours.result), in = r.block(theirs);
    co_await cx.sendrecv(out.source(), 0, in.target(), 0);
  }
  parts.base = theirs;
  const Block mine{r.result, parts[cx.rank].count, r.type};
  co_await scatter_linear(cx.local(), parts, mine, 0, false, true);
  co_return Err::ok;
}

}  // namespace dunlin::coll
