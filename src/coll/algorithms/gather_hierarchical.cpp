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
  const Hierarchy& hierarchy = *cx.hierarchy;
  const Reservation turn = cx.reserve();
  const Cx domain = cx.domain(turn);
  const bool is_root = cx.rank == root;
  const int root_domain = hierarchy.domain_of(root);
  const int leader = hierarchy.domain_of(cx.rank) == root_domain ? hierarchy.place_of(root) : 0;
  const bool is_direct = is_root && hierarchy.is_in_order() && all[root].is_contiguous();
  if (in_place) mine = all[root];
  DomainRow row{is_direct ? all.base : nullptr, mine.bytes(), is_root};
  if (domain.rank == leader && !is_direct) {
    row.data = cx.take(row.bytes * std::size_t(is_root ? cx.size : domain.size));
    if (!row.data) co_return Err::no_mem;
  }
  const Blocks near = row.of_domain(cx);
  if (is_root && !(is_direct && in_place)) copy(mine, near[domain.rank]);
  co_await start_gather(domain, mine, near, leader, is_root);
  if (domain.rank == leader) {
    const Blocks rows = row.by_domain(cx);
    const Block own = Block::of_bytes(near.base, row.bytes * std::size_t(domain.size));
    co_await (rows.is_equal() ? start_gather : start_gatherv)(cx.leaders(0, root), own, rows, root_domain,
                                                              is_root);
  }
  const std::span<const int> order = hierarchy.order();
  for (std::size_t i = 0; i < order.size() && is_root && !is_direct; ++i)
    if (order[i] != root || !in_place) copy(row.block(int(i)), all[order[i]]);
  co_await leave(domain, &turn);
  co_return Err::ok;
}

}  // namespace dunlin::coll
