// Reduce up a binomial tree; the order of operands is kept.
//
// Ranks are counted from the root where the operator commutes.  Where it does not, from rank 0, so that every
// subtree is a run of consecutive ranks and its result stands on the right of its parent's; rank 0 then sends
// the result to the root. Cost: ceil(lg p) * (alpha + n beta + n gamma), one more step for a root other than
// 0 without commutativity. A rank without children sends from the program's buffer.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task reduce_binomial(Cx cx, Reduction r, int root) {
  const int top = r.op->is_commutative() ? root : 0;
  const int place = cx.wrapped(cx.rank - top);
  std::byte* value = nullptr;  // what this rank has reduced so far; nullptr: only its own operand
  std::byte* other = nullptr;
  for (int bit = 1; bit < cx.size; bit *= 2) {
    if (place & bit) {
      const Block out = r.block(value ? value : r.mine);
      co_await cx.send(out.source(), cx.wrapped(place - bit + top));
      break;
    }
    if (place + bit >= cx.size) continue;
    if (!value) {
      value = cx.rank == root && place == 0 ? r.result : cx.take_elements(r.count, *r.type);
      other = cx.take_elements(r.count, *r.type);
      if (!other || (!value && r.count > 0)) co_return Err::no_mem;  // the program may have no result
      if (value != r.mine) copy(r.block(r.mine), r.block(value));
    }
    const Block in = r.block(other);
    co_await cx.recv(in.target(), cx.wrapped(place + bit + top));
    r.fold(value, other, false);
  }
  DUNLIN_ASSERT(place != 0 || cx.size == 1 || value || r.count == 0);  // the top has reduced
  if (top != root && cx.rank == top) {
    const Block out = r.block(value ? value : r.mine);
    co_await cx.send(out.source(), root);
  } else if (top != root && cx.rank == root) {
    const Block in = r.block(r.result);
    co_await cx.recv(in.target(), top);
  } else if (cx.rank == root && value != r.result && (value || r.mine != r.result)) {
    copy(r.block(value ? value : r.mine), r.block(r.result));
  }
  co_return Err::ok;
}

}  // namespace dunlin::coll
