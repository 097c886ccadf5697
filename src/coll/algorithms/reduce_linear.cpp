// Reduce at the root, which hears every rank in turn, the last one first; the order of operands is kept.
//
// Cost: (p-1) * (alpha + n beta + n gamma) at the root, but no rank waits for another: for short messages
// where ranks share cores.  The value grows to the left: rank p-1, then p-2 op it, and so on.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task reduce_linear(Cx cx, Reduction r, int root) {
  if (cx.rank != root) {
    const Block out = r.block(r.mine);
    co_await cx.send(out.source(), root);
    co_return Err::ok;
  }
  std::byte* value = cx.take_elements(r.count, *r.type);
  std::byte* other = cx.take_elements(r.count, *r.type);
  if (!value || !other) co_return Err::no_mem;
  for (int from = cx.size - 1; from >= 0; --from) {
    std::byte* to = from == cx.size - 1 ? value : other;
    const Block in = r.block(to);
    if (from == root)
      copy(r.block(r.mine), in);
    else
      co_await cx.recv(in.target(), from);
    if (to == other) r.fold(value, other, true);
  }
  copy(r.block(value), r.block(r.result));
  co_return Err::ok;
}

}  // namespace dunlin::coll
