// Broadcast of an inter-communicator: the root tells the first rank of the other group, which tells its
// group.
//
// `root` is MPI_ROOT at the root, MPI_PROC_NULL at its fellows, the root's rank in the other group.
// Cost: (1 + ceil(lg p)) * (alpha + n beta), p ranks in the receiving group.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task bcast_inter(Cx cx, Block block, int root) {
  if (root == MPI_PROC_NULL) co_return Err::ok;
  if (root == MPI_ROOT) {
    co_await cx.send(block.source(), 0);
    co_return Err::ok;
  }
  if (cx.rank == 0) co_await cx.recv(block.target(), root);
  co_await bcast_binomial(cx.local(), block, 0);
  co_return Err::ok;
}

}  // namespace dunlin::coll
