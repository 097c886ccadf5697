// Gather of short blocks in shared memory: every member puts its block there, the root reads them.
//
// Blocks of any lengths, each of which its two ends know alike (gatherv): longer ones than `short_bytes_max`
// are messages, which both ends copy.  The sender decides, so that one whose length the root does not expect
// is received all the same, and an error there.
// Cost: p n beta at the root; nobody else waits.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task gather_shared(Cx cx, Block mine, Blocks all, int root, bool in_place, std::size_t short_bytes_max) {
  const Turn turn = cx.turn();
  const bool is_varied = short_bytes_max < SIZE_MAX;  // then who has no data is not looked at
  bool are_all_short = true, has_met_any = false;
  if (cx.rank != root) {
    const std::size_t bytes = mine.bytes();
    are_all_short = bytes <= short_bytes_max;
    co_await cx.until(turn.place_is_free());
    if (are_all_short) turn.put(mine, bytes, 0, bytes);
    turn.arrive(bytes);
    if (!are_all_short) cx.post_send(mine.source(), root);
  } else {
    if (!in_place) copy(mine, all[root]);
    for (int step = 1; step < cx.size; ++step) {
      const int from = cx.wrapped(root + step);
      const Block block = all[from];
      const std::size_t bytes = block.bytes();
      if (bytes == 0 && is_varied) continue;
      co_await (is_varied ? cx.until(turn.is_there(from)) : cx.until_last(turn, turn.is_there(from)));
      has_met_any = true;
      if (turn.bytes_of(from) > short_bytes_max)
        are_all_short = false;
      else if (cx.agrees(turn, from, bytes))
        turn.get(from, block, bytes, 0, bytes);
    }
    for (int step = 1; step < cx.size && !are_all_short; ++step) {
      const int from = cx.wrapped(root + step);
      const Block block = all[from];
      if (block.bytes() > 0 && turn.bytes_of(from) > short_bytes_max) cx.post_recv(block.target(), from);
    }
    if (!has_met_any) co_await cx.until(turn.place_is_free());  // nobody runs ahead of turns not left yet
  }
  turn.leave(false);
  if (!are_all_short) co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
