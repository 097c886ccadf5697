// Gather of long or unequal blocks: every rank sends its block straight to its place at the root.
//
// Cost: (p-1) * alpha + n beta at the root, n bytes altogether; no copies.  The root posts receives in
// bunches, which bounds its memory at any p.  Blocks without data are not sent: sender and root agree on
// sizes.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task gather_linear(Cx cx, Block mine, Blocks all, int root, bool in_place, bool is_varied) {
  constexpr int kBunch = 32;
  if (cx.rank != root) {
    if (mine.bytes() > 0 || !is_varied) co_await cx.send(mine.source(), root);
    co_return Err::ok;
  }
  for (int step = 1; step < cx.size; ++step) {
    const int from = cx.wrapped(root + step);
    const Block room = all[from];
    if (room.bytes() > 0 || !is_varied) cx.post_recv(room.target(), from);
    if (step % kBunch == 0) co_await cx.all();
  }
  if (!in_place) copy(mine, all[cx.rank]);
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
