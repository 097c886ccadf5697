// Allgather of short blocks in shared memory: every member puts its block there and reads all others.
//
// Cost: p n beta at each rank, one wait.  Blocks may be unequal.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task allgather_shared(Cx cx, Blocks all) {
  const Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  const Block mine = all[cx.rank];
  turn.put(mine, mine.bytes(), 0, mine.bytes());
  turn.arrive(mine.bytes());
  co_await cx.until_last(turn, turn.all_are_there());
  for (int step = 1; step < cx.size; ++step) {
    const int from = cx.wrapped(cx.rank + step);
    const Block block = all[from];
    if (cx.agrees(turn, from, block.bytes())) turn.get(from, block, block.bytes(), 0, block.bytes());
  }
  turn.leave(true);
  co_return Err::ok;
}

}  // namespace dunlin::coll
