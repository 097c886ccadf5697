// Scatter of an inter-communicator: the root sends to every rank of the other group.  Serves scatter and
// scatterv.
//
// Cost: p * alpha + n beta at the root, p ranks in the other group.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task scatter_inter(Cx cx, Blocks all, Block mine, int root) {
  constexpr int kBunch = 32;
  if (root == MPI_PROC_NULL) co_return Err::ok;
  if (root != MPI_ROOT) {
    if (mine.bytes() > 0) co_await cx.recv(mine.target(), root);
    co_return Err::ok;
  }
  for (int to = 0; to < cx.remote_size(); ++to) {
    const Block theirs = all[to];
    if (theirs.bytes() > 0) cx.post_send(theirs.source(), to);
    if (to % kBunch == kBunch - 1) co_await cx.all();
  }
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
