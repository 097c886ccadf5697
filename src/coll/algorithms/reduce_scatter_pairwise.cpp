// Reduce-scatter of long messages, or of few ranks: in round k a rank sends the part of the one k behind it,
// and reduces what the one k before it sends for its own part.  Commutative.
//
// Cost: (p-1) * alpha + (p-1)/p * n beta + (p-1)/p * n gamma; scratch for one part.
// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.3.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task reduce_scatter_pairwise(Cx cx, Reduction r, Blocks parts) {
  DUNLIN_ASSERT(r.op->is_commutative());
  parts.base = offset(r.mine, 0);
  const Block mine = parts[cx.rank];
  const bool is_in_place = r.mine == r.result;  // the result's place still holds operands of others
  std::byte* other = cx.take_elements(mine.count, *r.type);
  std::byte* value = is_in_place ? cx.take_elements(mine.count, *r.type) : r.result;
  if (!other || (!value && mine.count > 0)) co_return Err::no_mem;  // the program may have no result
  const Block sum{value, mine.count, r.type}, in{other, mine.count, r.type};
  copy(mine, sum);
  for (int step = 1; step < cx.size; ++step) {
    const int to = cx.wrapped(cx.rank + step), from = cx.wrapped(cx.rank - step);
    const Block out = parts[to];
    if (out.bytes() > 0 || parts.is_equal()) cx.post_send(out.source(), to);
    if (in.bytes() > 0 || parts.is_equal()) cx.post_recv(in.target(), from);
    co_await cx.all();
    r.op->combine(other, value, mine.count, *r.type);
  }
  if (is_in_place) copy(sum, {r.result, mine.count, r.type});
  co_return Err::ok;
}

}  // namespace dunlin::coll
