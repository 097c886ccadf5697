// Alltoall of short equal blocks in shared memory: every member puts its blocks there and reads those that
// are its own.
//
// Cost: 2 p n beta at each rank, one wait.  In place, too: what a member sends is read before it arrives.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task alltoall_shared(Cx cx, Blocks send, Blocks recv, bool in_place) {
  const Turn turn = cx.turn();
  const auto size = std::size_t(cx.size);
  const std::size_t bytes = recv[cx.rank].bytes();
  co_await cx.until(turn.place_is_free());
  for (int to = 0; to < cx.size; ++to)
    if (to != cx.rank) turn.put(send[to], bytes, std::size_t(to) * bytes, size * bytes);
  turn.arrive(bytes);
  if (!in_place) copy(send[cx.rank], recv[cx.rank]);
  co_await cx.until_last(turn, turn.all_are_there());
  for (int step = 1; step < cx.size; ++step) {
    const int from = cx.wrapped(cx.rank + step);
    if (cx.agrees(turn, from, bytes))
      turn.get(from, recv[from], bytes, std::size_t(cx.rank) * bytes, size * bytes);
  }
  turn.leave(true);
  co_return Err::ok;
}

}  // namespace dunlin::coll
