// Broadcast down a binomial tree.
//
// Ranks are counted from the root.  A rank hears from the one with its lowest set bit cleared and then tells
// those that differ from it in a lower bit, the farthest (largest subtree) first. Cost: ceil(lg p) * (alpha +
// n beta).  Trace for p = 5: 0->4; 0->2; 0->1, 2->3.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task bcast_binomial(Cx cx, Block block, int root) {
  const int place = cx.wrapped(cx.rank - root);  // distance from the root
  int bit = 1;
  for (; bit < cx.size; bit *= 2)
    if (place & bit) {
      co_await cx.recv(block.target(), cx.wrapped(place - bit + root));
      break;
    }
  DUNLIN_ASSERT((place == 0) == (bit >= cx.size));  // all but the root have received
  for (bit /= 2; bit > 0; bit /= 2)
    if (place + bit < cx.size) cx.post_send(block.source(), cx.wrapped(place + bit + root));
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
