// Allgather in one round: every rank sends its block to every other.  Serves allgather and allgatherv.
//
// Cost: (p-1) * alpha + (p-1)/p * n beta, n bytes altogether, as the ring; but no message waits for another
// one, and that is what counts where ranks share cores.  Bunches bound the messages under way; all ranks meet
// in the same round.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task allgather_linear(Cx cx, Blocks all) {
  constexpr int kBunch = 32;
  const Block mine = all[cx.rank];
  for (int step = 1; step < cx.size; ++step) {
    const int to = cx.wrapped(cx.rank + step), from = cx.wrapped(cx.rank - step);
    const Block in = all[from];
    if (in.bytes() > 0) cx.post_recv(in.target(), from);
    if (mine.bytes() > 0) cx.post_send(mine.source(), to);
    if (step % kBunch == 0) co_await cx.all();
  }
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
