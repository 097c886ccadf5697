// Gather of an inter-communicator: every rank of the other group sends to the root.  Serves gather and
// gatherv.
//
// Cost: p * alpha + n beta at the root, p ranks in the other group.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task gather_inter(Cx cx, Block mine, Blocks all, int root) {
  constexpr int kBunch = 32;
  if (root == MPI_PROC_NULL) co_return Err::ok;
  if (root != MPI_ROOT) {
    if (mine.bytes() > 0) co_await cx.send(mine.source(), root);
    co_return Err::ok;
  }
  for (int from = 0; from < cx.remote_size(); ++from) {
    const Block room = all[from];
    if (room.bytes() > 0) cx.post_recv(room.target(), from);
    if (from % kBunch == kBunch - 1) co_await cx.all();
  }
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
