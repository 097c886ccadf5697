// Allgather over several domains: one leader of each collects the blocks of its domain, the leaders exchange
// what they have, then it is spread in the domains.  Serves allgather and allgatherv.
//
// Where ranks do not lie domain after domain, or blocks have gaps, they are put in order in scratch memory.
// Cost, with d domains: two exchanges in shared memory; between domains as the algorithm chosen for d ranks
// with blocks of whole domains.
#include "coll/algorithms/domain_rows.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {
Task allgather_hierarchical(Cx cx, Block mine, Blocks all) {
  const Hierarchy& hierarchy = *cx.hierarchy;
  const Cx domain = cx.domain(0);
  const std::span<const int> order = hierarchy.order();
  auto* const counts =
      reinterpret_cast<std::int64_t*>(cx.take((2 * order.size() + 1) * sizeof(std::int64_t)));
  if (!counts) co_return Err::no_mem;
  std::int64_t* const starts = counts + order.size();  // bytes, as `counts`, by position
  starts[0] = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    counts[i] = std::int64_t(all[order[i]].bytes());
    starts[i + 1] = starts[i] + counts[i];
  }
  const auto bytes = std::size_t(starts[order.size()]);
  const bool is_in_place = hierarchy.is_in_order() && all.is_equal() && all[0].is_contiguous();
  std::byte* const row = is_in_place ? all.base : cx.take(bytes);
  if (!row && bytes > 0) co_return Err::no_mem;
  const int first = hierarchy.begin_of(hierarchy.domain_of(cx.rank));
  const Blocks near =
      Blocks::varied(row, IntArray{counts + first, true}, IntArray{starts + first, true}, nullptr);
  if (!is_in_place) copy(mine, near[domain.rank]);

  co_await start_gatherv(domain, near[domain.rank], near, 0, true);
  if (domain.rank == 0) {
    const Blocks domains = by_domain(cx, row, [starts](int position) { return starts[position]; });
    co_await start_allgather(cx.leaders(0, -1), domains[hierarchy.domain_of(cx.rank)], domains);
  }
  co_await start_bcast(cx.domain(1), Block::of_bytes(row, bytes), 0);
  for (std::size_t i = 0; i < order.size() && !is_in_place; ++i)
    if (order[i] != cx.rank) copy(Block::of_bytes(row + starts[i], std::size_t(counts[i])), all[order[i]]);
  co_return Err::ok;
}

}  // namespace dunlin::coll
