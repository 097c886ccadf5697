// Reduce-scatter as a reduce to rank 0 and a scatter of the parts: short messages, and operators that do not
// commute.
//
// Cost: a reduce and a scatter; of short equal parts 2 ceil(lg p) * alpha + (lg p + 1) * n beta + lg p * n
// gamma.
#include "coll/algorithms/algorithms.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {

Task reduce_scatter_by_reduce(Cx cx, Reduction r, Blocks parts) {
  Reduction whole = r;
  whole.result = nullptr;
  if (cx.rank == 0) {
    whole.result = cx.take_elements(r.count, *r.type);
    if (!whole.result) co_return Err::no_mem;
  }
  co_await start_reduce(cx, whole, 0);
  parts.base = whole.result;
  const Block mine{r.result, parts[cx.rank].count, r.type};
  // By messages: the reduce has taken the turn in shared memory.
  co_await (parts.is_equal() ? start_scatter : start_scatterv)(cx.apart(), parts, mine, 0, false);
  co_return Err::ok;
}

}  // namespace dunlin::coll
