// Exclusive prefix reduction by recursive doubling; the order of operands is kept.  Rank 0's result is left
// alone.
//
// As scan_recursive_doubling, but the prefix starts with the first operand that comes from a lower partner.
// Cost: ceil(lg p) * (alpha + n beta + 2 n gamma).
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task exscan_recursive_doubling(Cx cx, Reduction r) {
  std::byte* group = cx.take_elements(r.count, *r.type);  // reduction of my group of ranks so far
  std::byte* other = cx.take_elements(r.count, *r.type);
  if (!group || !other) co_return Err::no_mem;
  copy(r.block(r.mine), r.block(group));
  bool has_prefix = false;
  for (int distance = 1; distance < cx.size; distance *= 2) {
    const int peer = cx.rank ^ distance;
    if (peer >= cx.size) continue;
    const Block out = r.block(group), in = r.block(other);
    co_await cx.sendrecv(out.source(), peer, in.target(), peer);
    if (peer < cx.rank && has_prefix) r.op->combine(other, r.result, r.count, *r.type);
    if (peer < cx.rank && !has_prefix) copy(in, r.block(r.result));
    has_prefix |= peer < cx.rank;
    r.fold(group, other, peer < cx.rank);
  }
  co_return Err::ok;
}

}  // namespace dunlin::coll
