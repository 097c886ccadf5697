// Broadcast of short messages in shared memory: the root puts the data there, all others read it.
//
// Cost: n beta at each rank, all at once; the root waits only for the broadcast but one before this.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task bcast_shared(Cx cx, Block block, int root) {
  const Turn turn = cx.turn();
  const std::size_t bytes = block.bytes();
  if (cx.rank == root) {
    co_await cx.until(turn.place_is_free());
    turn.put(block, bytes, 0, bytes);
    turn.arrive(bytes);
  } else {
    co_await cx.until_last(turn, turn.is_there(root));
    if (cx.agrees(turn, root, bytes)) turn.get(root, block, bytes, 0, bytes);
  }
  turn.leave(false);
  co_return Err::ok;
}

}  // namespace dunlin::coll
