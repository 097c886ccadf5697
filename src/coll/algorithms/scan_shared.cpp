// Scan and exclusive scan of short operands in shared memory: every member puts its operand there and
// combines those of the ranks before it, for a scan its own, too.
//
// Cost: n beta + r n gamma at rank r, which waits for the ranks before it only.
#include "coll/algorithms/operands_shared.hpp"

namespace dunlin::coll {

Task scan_shared(Cx cx, Reduction r, bool is_exclusive) {
  const int members = is_exclusive ? cx.rank : cx.rank + 1;
  const SharedOperands operands = SharedOperands::take(cx, r, members);
  const Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  turn.put(r.block(r.mine), r.bytes(), 0, r.bytes());
  turn.arrive();
  co_await cx.until(turn.are_there(members));
  if (members > 0) operands.combine(turn, r, members, 0, r.count, r.result);
  turn.leave(false);
  co_return Err::ok;
}

}  // namespace dunlin::coll
