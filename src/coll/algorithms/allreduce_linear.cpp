// Allreduce through rank 0: it reduces what it hears from everybody, then tells everybody.
//
// Cost: 2 (p-1) * (alpha + n beta) + (p-1) * n gamma at rank 0; every other rank waits once, which is what
// counts for short messages where ranks share cores.  The order of operands is kept.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task allreduce_linear(Cx cx, Reduction r) {
  co_await reduce_linear(cx, r, 0);
  co_await bcast_linear(cx, r.block(r.result), 0);
  co_return Err::ok;
}

}  // namespace dunlin::coll
