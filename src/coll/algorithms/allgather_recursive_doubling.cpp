// Allgather of equal blocks by recursive doubling, p a power of two.
//
// In round k a rank exchanges all it has with the one that differs in bit k.
// Cost: lg p * alpha + (p-1)/p * n beta, n bytes altogether.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task allgather_recursive_doubling(Cx cx, Blocks all) {
  DUNLIN_ASSERT((cx.size & (cx.size - 1)) == 0);
  for (int have = 1; have < cx.size; have *= 2) {
    const int peer = cx.rank ^ have;
    const Block out = all.run(cx.rank & ~(have - 1), have), in = all.run(peer & ~(have - 1), have);
    co_await cx.sendrecv(out.source(), peer, in.target(), peer);
  }
  co_return Err::ok;
}

}  // namespace dunlin::coll
