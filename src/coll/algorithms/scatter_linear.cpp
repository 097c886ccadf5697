// Scatter of long or unequal blocks: the root sends every rank its block straight from its place.
//
// Cost: (p-1) * alpha + n beta at the root, n bytes altogether; no copies.  Sends are started in bunches.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task scatter_linear(Cx cx, Blocks all, Block mine, int root, bool in_place, bool is_varied) {
  constexpr int kBunch = 32;
  if (cx.rank != root) {
    if (mine.bytes() > 0 || !is_varied) co_await cx.recv(mine.target(), root);
    co_return Err::ok;
  }
  for (int step = 1; step < cx.size; ++step) {
    const int to = cx.wrapped(root + step);
    const Block theirs = all[to];
    if (theirs.bytes() > 0 || !is_varied) cx.post_send(theirs.source(), to);
    if (step % kBunch == 0) co_await cx.all();
  }
  if (!in_place) copy(all[cx.rank], mine);
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
