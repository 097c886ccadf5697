// Broadcast by the root to everybody.
//
// Cost: (p-1) * (alpha + n beta) at the root, but no rank waits for a rank that has to get its core first:
// for short messages where ranks share cores.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task bcast_linear(Cx cx, Block block, int root) {
  if (cx.rank != root) {
    co_await cx.recv(block.target(), root);
    co_return Err::ok;
  }
  for (int step = 1; step < cx.size; ++step) cx.post_send(block.source(), cx.wrapped(root + step));
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
