// Barrier over several domains: each in itself, then one leader of each with the others, then each in itself.
//
// Cost: two barriers in shared memory, ceil(lg d) alpha between d domains.
#include "coll/algorithms/algorithms.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {

Task barrier_hierarchical(Cx cx) {
  const Cx domain = cx.domain(0);
  co_await start_barrier(domain);
  if (domain.rank == 0) co_await barrier_dissemination(cx.leaders(0, -1));
  co_await start_barrier(cx.domain(1));
  co_return Err::ok;
}

}  // namespace dunlin::coll
