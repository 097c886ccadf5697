// Alltoall of long or unequal blocks: in round k a rank sends to the one k behind it and receives from the
// one k before it.
//
// Rounds overlap in bunches, so that one slow rank does not stop all; a bunch ends together, hence no more
// than kBunch messages a rank are under way.  All ranks meet in the same round, therefore no deadlock. Cost:
// (p-1) * (alpha + n/p beta), n bytes a rank; no copies.  Blocks of an alltoallv without data are not sent.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task alltoall_pairwise(Cx cx, Blocks send, Blocks recv) {
  constexpr int kBunch = 16;
  for (int step = 1; step < cx.size; ++step) {
    const int to = cx.wrapped(cx.rank + step), from = cx.wrapped(cx.rank - step);
    const Block out = send[to], in = recv[from];
    if (in.bytes() > 0 || recv.is_equal()) cx.post_recv(in.target(), from);
    if (out.bytes() > 0 || send.is_equal()) cx.post_send(out.source(), to);
    if (step % kBunch == 0) co_await cx.all();
  }
  copy(send[cx.rank], recv[cx.rank]);
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
