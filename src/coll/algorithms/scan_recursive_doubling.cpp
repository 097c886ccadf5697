// Inclusive prefix reduction by recursive doubling; the order of operands is kept.
//
// A rank carries the reduction of its group of 2^k ranks; what comes from a lower partner also belongs to its
// prefix. Cost: ceil(lg p) * (alpha + n beta + 2 n gamma).  Source: Hillis, Steele, CACM 29(12), 1986, on
// groups of ranks.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task scan_recursive_doubling(Cx cx, Reduction r) {
  std::byte* group = cx.take_elements(r.count, *r.type);  // reduction of my group of ranks so far
  std::byte* other = cx.take_elements(r.count, *r.type);
  if (!group || !other) co_return Err::no_mem;
  if (r.mine != r.result) copy(r.block(r.mine), r.block(r.result));
  copy(r.block(r.mine), r.block(group));
  for (int distance = 1; distance < cx.size; distance *= 2) {
    const int peer = cx.rank ^ distance;
    if (peer >= cx.size) continue;
    const Block out = r.block(group), in = r.block(other);
    co_await cx.sendrecv(out.source(), peer, in.target(), peer);
    if (peer < cx.rank) r.op->combine(other, r.result, r.count, *r.type);
    r.fold(group, other, peer < cx.rank);
  }
  co_return Err::ok;
}

}  // namespace dunlin::coll
