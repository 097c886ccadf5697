// Reduce of short operands in shared memory: every member puts its operand there, the root combines them.
//
// Cost: p n beta + (p-1) n gamma at the root; nobody else waits.
#include "coll/algorithms/operands_shared.hpp"

namespace dunlin::coll {

Task reduce_shared(Cx cx, Reduction r, int root) {
  const bool is_root = cx.rank == root;
  const SharedOperands operands = SharedOperands::take(cx, r, is_root ? cx.size : 0);
  const Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  turn.put(r.block(r.mine), r.bytes(), 0, r.bytes());
  turn.arrive();
  if (is_root) {
    co_await cx.until(turn.all_are_there());
    operands.combine(turn, r, cx.size, 0, r.count, r.result);
  }
  turn.leave(is_root);
  co_return Err::ok;
}

}  // namespace dunlin::coll
