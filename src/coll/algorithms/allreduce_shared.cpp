// Allreduce of short operands in shared memory: every member puts its operand there and combines all.
//
// Cost: n beta + (p-1) n gamma at each rank, one wait: as each does the whole work, none waits for a result.
#include "coll/algorithms/operands_shared.hpp"

namespace dunlin::coll {

Task allreduce_shared(Cx cx, Reduction r) {
  const SharedOperands operands = SharedOperands::take(cx, r, cx.size);
  const Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  turn.put(r.block(r.mine), r.bytes(), 0, r.bytes());
  turn.arrive();
  co_await cx.until(turn.all_are_there());
  operands.combine(turn, r, cx.size, 0, r.count, r.result);
  turn.leave(true);
  co_return Err::ok;
}

}  // namespace dunlin::coll
