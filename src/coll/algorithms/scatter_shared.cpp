// Scatter of short equal blocks in shared memory: the root puts all there, every member reads its own.
//
// Cost: p n beta at the root, n beta at each other rank.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task scatter_shared(Cx cx, Blocks all, Block mine, int root, bool in_place) {
  const Turn turn = cx.turn();
  const auto size = std::size_t(cx.size);
  if (cx.rank == root) {
    const std::size_t bytes = all[root].bytes();
    co_await cx.until(turn.place_is_free());
    for (int to = 0; to < cx.size; ++to)
      if (to != root) turn.put(all[to], bytes, std::size_t(to) * bytes, size * bytes);
    turn.arrive(bytes);
    if (!in_place) copy(all[root], mine);
  } else {
    const std::size_t bytes = mine.bytes();
    co_await cx.until_last(turn, turn.is_there(root));
    if (cx.agrees(turn, root, bytes)) turn.get(root, mine, bytes, std::size_t(cx.rank) * bytes, size * bytes);
  }
  turn.leave(false);
  co_return Err::ok;
}

}  // namespace dunlin::coll
