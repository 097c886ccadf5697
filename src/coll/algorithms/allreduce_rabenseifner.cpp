// Allreduce of long messages: reduce-scatter by recursive halving, then allgather by recursive doubling.
// Commutative.
//
// Cost: 2 lg p * alpha + 2 (p-1)/p * n beta + (p-1)/p * n gamma for p a power of two; otherwise neighbours
// fold first and the result is given back at the end (fold_pairs.hpp): n beta twice more for those. Source:
// Rabenseifner, ICCS 2004; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.5. The vector is cut
// into one part per worker.  Trace for 4 workers, who reduces what: [0,2) by 0 and 1, [2,4) by 2 and 3; then
// 0 by 0, 1 by 1, 2 by 2, 3 by 3; then back up.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/fold_pairs.hpp"

namespace dunlin::coll {
namespace {

/// First element of a worker's part.
std::int64_t start_of(const Reduction& r, int part, int workers) noexcept {
  return r.count / workers * part + r.count % workers * part / workers;
}

Block parts(const Reduction& r, const std::byte* at, int first, int last, int workers) noexcept {
  return r.part(at, start_of(r, first, workers), start_of(r, last, workers));
}

}  // namespace

Task allreduce_rabenseifner(Cx cx, Reduction r) {
  DUNLIN_ASSERT(r.op->is_commutative());
  const FoldPairs pairs(cx.size);
  const Block result = r.block(r.result);
  if (pairs.is_folded(cx.rank)) {
    const Block out = r.block(r.mine);
    co_await cx.send(out.source(), cx.rank + 1);
    co_await cx.recv(result.target(), cx.rank + 1);
    co_return Err::ok;
  }
  if (r.mine != r.result) copy(r.block(r.mine), result);
  std::byte* other = cx.take_elements(r.count, *r.type);
  if (!other) co_return Err::no_mem;
  if (pairs.works_for_two(cx.rank)) {
    const Block in = r.block(other);
    co_await cx.recv(in.target(), cx.rank - 1);
    r.op->combine(other, r.result, r.count, *r.type);
  }
  const int slot = pairs.slot(cx.rank), workers = pairs.workers;
  for (int half = workers / 2; half >= 1; half /= 2) {
    const int peer_slot = slot ^ half, peer = pairs.rank(peer_slot);
    const int kept = slot & ~(half - 1), given = peer_slot & ~(half - 1);
    const Block out = parts(r, r.result, given, given + half, workers);
    const Block in = parts(r, other, kept, kept + half, workers);
    co_await cx.sendrecv(out.source(), peer, in.target(), peer);
    const Block mine = parts(r, r.result, kept, kept + half, workers);
    r.op->combine(in.at, mine.at, mine.count, *r.type);
  }
  std::int64_t have_count = parts(r, r.result, slot, slot + 1, workers).count;
  for (int half = 1; half < workers; half *= 2) {
    const int peer_slot = slot ^ half, peer = pairs.rank(peer_slot);
    const int have = slot & ~(half - 1), missing = peer_slot & ~(half - 1);
    const Block out = parts(r, r.result, have, have + half, workers);
    const Block in = parts(r, r.result, missing, missing + half, workers);
    co_await cx.sendrecv(out.source(), peer, in.target(), peer);
    DUNLIN_ASSERT(out.count == have_count);
    have_count += in.count;
  }
  DUNLIN_ASSERT(have_count == r.count);
  if (pairs.works_for_two(cx.rank)) co_await cx.send(result.source(), cx.rank - 1);
  co_return Err::ok;
}

}  // namespace dunlin::coll
