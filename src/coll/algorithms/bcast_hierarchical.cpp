// Broadcast over several domains: leaders pass their slices from domain to domain, then each domain puts
// them together; in the root's domain all have them before.
//
// Data that is not contiguous is packed once at the root and unpacked once elsewhere.
// Cost, with d domains and l leaders: one broadcast in shared memory, ceil(lg d) (alpha + n/l beta) between
// domains.
#include "coll/algorithms/slices.hpp"

namespace dunlin::coll {

Task bcast_hierarchical(Cx cx, Block block, int root) {
  const std::size_t bytes = block.bytes();
  const Slices slices = Slices::of(cx, bytes, std::int64_t(bytes), root);
  const Cx domain = cx.domain(0);
  const int root_place = cx.hierarchy->place_of(root);
  Block packed = Block::of_bytes(block.at, bytes);
  if (!block.is_contiguous()) {
    packed.at = cx.take(bytes);
    if (packed.at && cx.rank == root) copy(block, packed);
  }
  const Blocks pieces = slices.cut(domain, packed.at, packed.count, nullptr);
  const bool is_spread_before = slices.is_in_root_domain && slices.leaders > 1;
  if (is_spread_before) co_await start_bcast(domain, packed, root_place);
  if (slices.has_leader(domain))
    co_await start_bcast(slices.colleagues(cx, domain, root), pieces[domain.rank],
                         cx.hierarchy->domain_of(root));
  if (slices.leaders == 1)
    co_await start_bcast(domain, packed, slices.first);
  else if (!is_spread_before)
    co_await start_allgather(domain, pieces[domain.rank], pieces);
  if (!block.is_contiguous() && cx.rank != root) copy(packed, block);
  co_return Err::ok;
}

}  // namespace dunlin::coll
