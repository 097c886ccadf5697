// Scatter of short blocks over several domains: the root passes to a leader of each domain the blocks of that
// domain, the leaders share them out.
//
// The mirror image of gather_hierarchical, with the same cost.
#include "coll/algorithms/domain_rows.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {

Task scatter_hierarchical(Cx cx, Blocks all, Block mine, int root, bool in_place) {
  const Cx domain = cx.domain(0);
  const std::size_t bytes = (cx.rank == root ? all[root] : mine).bytes();
  const RootedRow row = RootedRow::take(cx, domain, all, bytes, root);
  if (row.is_leader && !row.data && row.bytes > 0) co_return Err::no_mem;
  const std::span<const int> order = cx.hierarchy->order();
  for (std::size_t i = 0; i < order.size() && row.is_root && !row.is_direct; ++i)
    copy(all[order[i]], row.block(int(i)));
  if (row.is_leader) {
    const Blocks domains = row.domains(cx);
    const Block own = row.near_as_one(cx, domain);
    const Cx leaders = cx.leaders(0, root);
    if (domains.is_equal())
      co_await start_scatter(leaders, domains, own, row.root_domain, row.is_root);
    else
      co_await scatter_linear(leaders, domains, own, row.root_domain, row.is_root, false);
  }
  co_await start_scatter(domain, row.near(cx), mine, row.leader, row.is_root && in_place);
  co_return Err::ok;
}

}  // namespace dunlin::coll
