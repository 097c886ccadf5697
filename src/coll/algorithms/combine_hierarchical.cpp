// Reduce and allreduce over several domains, in one text: each domain combines its operands, every leader's
// slice is combined over all domains, and the result is spread in the domains; for a reduce it is collected
// at the root, in the root's domain only.
//
// Operands are combined domain after domain, so operators that do not commute need domains in the order of
// ranks.
// Cost, with d domains of m members and l leaders: in shared memory as combine_shared.cpp and
// combine_direct.cpp; between domains ceil(lg d) alpha + 2 n/l (d-1)/d beta at each leader.
#include "coll/algorithms/slices.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {
namespace {

/// `root`: -1 where all get the result.
Task combine_hierarchical(Cx cx, Reduction r, int root) {
  const Slices slices = Slices::of(cx, r.bytes(), r.count, root);
  const bool is_spread = root < 0 || (slices.is_in_root_domain && slices.leaders > 1);
  const Cx domain = cx.domain(0), domain_after = cx.domain(1);
  const Blocks results = slices.cut(domain, r.result, r.count, r.type);
  Block mine = results[domain.rank];

  Reduction part = r;
  part.result = cx.take_elements(mine.count, *r.type);
  if (slices.leaders == 1)
    co_await start_reduce(domain, part, slices.first);
  else
    co_await start_reduce_scatter(domain, part, results);

  if (slices.has_leader(domain)) {
    const Cx colleagues = slices.colleagues(cx, domain, root);
    part.mine = part.result;
    part.count = mine.count;
    if (root < 0 || slices.leaders == 1) part.result = mine.at;
    if (root < 0)
      co_await start_allreduce(colleagues, part);
    else
      co_await start_reduce(colleagues, part, cx.hierarchy->domain_of(root));
    mine.at = part.result;
  }

  if (root < 0 && slices.leaders == 1) co_await start_bcast(domain_after, r.block(r.result), slices.first);
  if (root < 0 && slices.leaders > 1) co_await start_allgather(domain_after, mine, results);
  if (root >= 0 && is_spread)
    co_await start_gatherv(domain_after, mine, results, cx.hierarchy->place_of(root), false);
  co_return Err::ok;
}

}  // namespace

Task allreduce_hierarchical(Cx cx, Reduction r) { return combine_hierarchical(cx, r, -1); }
Task reduce_hierarchical(Cx cx, Reduction r, int root) { return combine_hierarchical(cx, r, root); }

}  // namespace dunlin::coll
