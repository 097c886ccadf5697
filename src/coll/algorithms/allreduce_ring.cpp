// Allreduce of very long messages round a ring: p-1 steps to reduce, p-1 to distribute.  Commutative.
//
// Cost: 2 (p-1) * alpha + 2 (p-1)/p * n beta + (p-1)/p * n gamma for any p: no folding, and every step moves
// n/p bytes, which fit a cache.  Source: Patarasuk, Yuan, JPDC 69(2), 2009. Part k starts at rank k and
// travels to the right, growing; rank k - 1 completes it.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {
namespace {

/// Part `index` of p, of the vector at `at`.
Block ring_part(const Reduction& r, const std::byte* at, int index, int size) noexcept {
  const std::int64_t length = r.count / size, longer = r.count % size;
  const std::int64_t first = length * index + std::min<std::int64_t>(index, longer);
  return r.part(at, first, first + length + (index < longer ? 1 : 0));
}

}  // namespace

Task allreduce_ring(Cx cx, Reduction r) {
  DUNLIN_ASSERT(r.op->is_commutative());
  const int p = cx.size, right = (cx.rank + 1) % p, left = (cx.rank - 1 + p) % p;
  std::byte* arrived = cx.take_elements(r.count / p + 1, *r.type);
  if (!arrived) co_return Err::no_mem;
  if (r.mine != r.result) copy(r.block(r.mine), r.block(r.result));
  for (int step = 0; step < p - 1; ++step) {
    const Block out = ring_part(r, r.result, (cx.rank - step + p) % p, p);
    const Block mine = ring_part(r, r.result, (cx.rank - step - 1 + p) % p, p);
    const Block in{arrived, mine.count, r.type};
    co_await cx.sendrecv(out.source(), right, in.target(), left);
    r.op->combine(arrived, mine.at, mine.count, *r.type);
  }
  for (int step = 0; step < p - 1; ++step) {
    const Block out = ring_part(r, r.result, (cx.rank + 1 - step + p) % p, p);
    const Block in = ring_part(r, r.result, (cx.rank - step + p) % p, p);
    co_await cx.sendrecv(out.source(), right, in.target(), left);
  }
  co_return Err::ok;
}

}  // namespace dunlin::coll
