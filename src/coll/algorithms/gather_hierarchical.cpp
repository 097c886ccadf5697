// Gather of short blocks over several domains: a leader collects the blocks of each domain and passes them on
// to the root, which leads its own.
//
// Where ranks do not lie domain after domain, or blocks at the root have gaps, the root collects them in
// scratch memory.
// Cost, with d domains: one gather in shared memory; between domains as the algorithm chosen for d ranks with
// blocks of whole domains.
#include "coll/algorithms/domain_rows.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {

Task gather_hierarchical(Cx cx, Block mine, Blocks all, int root, bool in_place) {
  const Cx domain = cx.domain(0);
  if (in_place) mine = all[root];
  const RootedRow row = RootedRow::take(cx, domain, all, mine.bytes(), root);
  if (row.is_leader && !row.data && row.bytes > 0) co_return Err::no_mem;
  const Blocks near = row.near(cx);
  if (row.is_root && !(row.is_direct && in_place)) copy(mine, near[domain.rank]);
  co_await start_gather(domain, mine, near, row.leader, row.is_root);
  if (row.is_leader) {
    const Blocks domains = row.domains(cx);
    const Block own = row.near_as_one(cx, domain);
    const Cx leaders = cx.leaders(0, root);
    if (domains.is_equal())
      co_await start_gather(leaders, own, domains, row.root_domain, row.is_root);
    else
      co_await gather_linear(leaders, own, domains, row.root_domain, row.is_root, false);
  }
  const std::span<const int> order = cx.hierarchy->order();
  for (std::size_t i = 0; i < order.size() && row.is_root && !row.is_direct; ++i)
    if (order[i] != root || !in_place) copy(row.block(int(i)), all[order[i]]);
  co_return Err::ok;
}

}  // namespace dunlin::coll
