// Gather of short blocks in shared memory: every member puts its block there, the root reads them.
//
// Cost: p n beta at the root; nobody else waits.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task gather_shared(Cx cx, Block mine, Blocks all, int root, bool in_place) {
  const Turn turn = cx.turn();
  if (cx.rank != root) {
    const std::size_t bytes = mine.bytes();
    co_await cx.until(turn.place_is_free());
    turn.put(mine, bytes, 0, bytes);
    turn.arrive(bytes);
  } else {
    if (!in_place) copy(mine, all[root]);
    for (int step = 1; step < cx.size; ++step) {
      const int from = cx.wrapped(root + step);
      co_await cx.until(turn.is_there(from));
      const Block block = all[from];
      if (cx.agrees(turn, from, block.bytes())) turn.get(from, block, block.bytes(), 0, block.bytes());
    }
  }
  turn.leave(false);
  co_return Err::ok;
}

}  // namespace dunlin::coll
