// Reduce-scatter of short operands in shared memory: every member puts its operand there and combines its
// own part of all.
//
// Cost: n beta + n gamma at each rank, one wait.
#include "coll/algorithms/operands_shared.hpp"

namespace dunlin::coll {

Task reduce_scatter_shared(Cx cx, Reduction r, Blocks parts) {
  const SharedOperands operands = SharedOperands::take(cx, r, cx.size);
  const Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  turn.put(r.block(r.mine), r.bytes(), 0, r.bytes());
  turn.arrive();
  co_await cx.until(turn.all_are_there());
  std::int64_t first = 0;
  for (int rank = 0; rank < cx.rank; ++rank) first += parts[rank].count;
  const std::int64_t count = parts[cx.rank].count;
  if (count > 0) operands.combine(turn, r, cx.size, first, count, r.result);
  turn.leave(true);
  co_return Err::ok;
}

}  // namespace dunlin::coll
