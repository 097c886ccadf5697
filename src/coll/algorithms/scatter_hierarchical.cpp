// Scatter of short blocks over several domains: the root passes to a leader of each domain the blocks of that
// domain, the leaders share them out.
//
// The mirror image of gather_hierarchical, with the same cost.
#include "coll/algorithms/domain_rows.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {

Task scatter_hierarchical(Cx cx, Blocks all, Block mine, int root, bool in_place) {
  const Hierarchy& hierarchy = *cx.hierarchy;
  const Reservation turn = cx.reserve();
  const Cx domain = cx.domain(turn);
  const bool is_root = cx.rank == root;
  const int root_domain = hierarchy.domain_of(root);
  const int leader = hierarchy.domain_of(cx.rank) == root_domain ? hierarchy.place_of(root) : 0;
  const bool is_direct = is_root && hierarchy.is_in_order() && all[root].is_contiguous();
  const std::span<const int> order = hierarchy.order();
  DomainRow row{is_direct ? all.base : nullptr, (is_root ? all[root] : mine).bytes(), is_root};
  if (domain.rank == leader && !is_direct) {
    row.data = cx.take(row.bytes * std::size_t(is_root ? cx.size : domain.size));
    if (!row.data) co_return Err::no_mem;
  }
  for (std::size_t i = 0; i < order.size() && is_root && !is_direct; ++i)
    copy(all[order[i]], row.block(int(i)));
  const Blocks near = row.of_domain(cx);
  if (domain.rank == leader) {
    const Blocks rows = row.by_domain(cx);
    const Block own = Block::of_bytes(near.base, row.bytes * std::size_t(domain.size));
    co_await (rows.is_equal() ? start_scatter : start_scatterv)(cx.leaders(0, root), rows, own, root_domain,
                                                                is_root);
  }
  co_await start_scatter(domain, near, mine, leader, is_root && in_place);
  co_await leave(domain, &turn);
  co_return Err::ok;
}

}  // namespace dunlin::coll
