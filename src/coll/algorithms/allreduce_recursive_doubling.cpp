// Allreduce of short messages by recursive doubling; the order of operands is kept.
//
// Cost: lg p * (alpha + n beta + n gamma), two more steps when p is no power of two (fold_pairs.hpp).
// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.5.
// Trace for p = 3: 0->1 folds; workers 1 (for 0 and 1) and 2 exchange; 1->0 gives the result back.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/fold_pairs.hpp"

namespace dunlin::coll {

Task allreduce_recursive_doubling(Cx cx, Reduction r) {
  const FoldPairs pairs(cx.size);
  const Block result = r.block(r.result);
  if (pairs.is_folded(cx.rank)) {
    const Block out = r.block(r.mine);
    co_await cx.send(out.source(), cx.rank + 1);
    co_await cx.recv(result.target(), cx.rank + 1);
    co_return Err::ok;
  }
  if (r.mine != r.result) copy(r.block(r.mine), result);
  std::byte* value = r.result;
  std::byte* other = cx.take_elements(r.count, *r.type);
  if (!other) co_return Err::no_mem;
  if (pairs.works_for_two(cx.rank)) {
    const Block in = r.block(other);
    co_await cx.recv(in.target(), cx.rank - 1);
    r.fold(value, other, true);
  }
  const int slot = pairs.slot(cx.rank);
  for (int distance = 1; distance < pairs.workers; distance *= 2) {
    const int peer = pairs.rank(slot ^ distance);
    DUNLIN_ASSERT(peer != cx.rank && peer < cx.size);
    const Block out = r.block(value), in = r.block(other);
    co_await cx.sendrecv(out.source(), peer, in.target(), peer);
    r.fold(value, other, peer < cx.rank);
  }
  if (value != r.result) copy(r.block(value), result);
  if (pairs.works_for_two(cx.rank)) co_await cx.send(result.source(), cx.rank - 1);
  co_return Err::ok;
}

}  // namespace dunlin::coll
