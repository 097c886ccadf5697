// Scan and exscan over several domains that lie one after the other: each domain in itself, then the last
// members of the domains exscan what their domains give altogether, then each domain puts that before its
// own.
//
// Cost, with d domains: a scan and a broadcast in shared memory, 2 n gamma; between domains ceil(lg d) *
// (alpha + n beta + 2 n gamma).
#include "coll/algorithms/algorithms.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {

Task scan_hierarchical(Cx cx, Reduction r, bool is_exclusive) {
  const int number = cx.hierarchy->domain_of(cx.rank);
  const Cx domain = cx.domain(0);
  const int last = domain.size - 1;
  std::byte* const total = cx.take_elements(r.count, *r.type);   // of this domain, at its last member
  std::byte* const before = cx.take_elements(r.count, *r.type);  // of all domains before this one
  if (!total || !before) co_return Err::no_mem;
  if (is_exclusive && domain.rank == last) copy(r.block(r.mine), r.block(total));
  co_await start_scan(domain, r, is_exclusive);
  if (domain.rank == last) {
    if (!is_exclusive) copy(r.block(r.result), r.block(total));
    if (is_exclusive && last > 0) r.op->combine(r.result, total, r.count, *r.type);
    Reduction totals = r;
    totals.mine = total;
    totals.result = before;
    co_await start_scan(cx.leaders(Cx::kLast, -1), totals, true);
  }
  if (number > 0) {
    co_await start_bcast(cx.domain(1), r.block(before), last);
    if (is_exclusive && domain.rank == 0)
      copy(r.block(before), r.block(r.result));
    else
      r.op->combine(before, r.result, r.count, *r.type);
  }
  co_return Err::ok;
}

}  // namespace dunlin::coll
