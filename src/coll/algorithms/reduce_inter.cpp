// Reduce of an inter-communicator: the other group reduces to its first rank, which sends to the root.
//
// Cost: (ceil(lg p) + 1) * (alpha + n beta) + ceil(lg p) * n gamma, p ranks in the sending group.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task reduce_inter(Cx cx, Reduction r, int root) {
  if (root == MPI_PROC_NULL) co_return Err::ok;
  if (root == MPI_ROOT) {
    const Block in = r.block(r.result);
    co_await cx.recv(in.target(), 0);
    co_return Err::ok;
  }
  if (cx.rank == 0) {
    r.result = cx.take_elements(r.count, *r.type);
    if (!r.result) co_return Err::no_mem;
  }
  co_await reduce_binomial(cx.local(), r, 0);
  if (cx.rank == 0) {
    const Block out = r.block(r.result);
    co_await cx.send(out.source(), root);
  }
  co_return Err::ok;
}

}  // namespace dunlin::coll
