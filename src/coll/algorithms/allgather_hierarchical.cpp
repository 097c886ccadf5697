// Allgather over several domains: one leader of each collects the blocks of its domain, the leaders exchange
// what they have, then it is spread in the domains.  Serves allgather and allgatherv.
//
// Where ranks do not lie domain after domain, or blocks have gaps, they are put in order in scratch memory.
// Cost, with d domains: two exchanges in shared memory; between domains as the algorithm chosen for d ranks
// with blocks of whole domains.
#include "coll/algorithms/algorithms.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {
namespace {

/// All blocks, domain after domain.
struct Packed {
  std::byte* data;
  std::int64_t* counts;  // bytes by position in the hierarchy's order
  std::int64_t* starts;
  int first;  // position of this rank's domain

  Blocks of_domain() const noexcept {
    return Blocks::varied(data, IntArray{counts + first, true}, IntArray{starts + first, true}, nullptr);
  }
};

/// The blocks of each domain as one.
Blocks by_domain(const Cx& cx, const Packed& packed) noexcept {
  const Hierarchy& all = *cx.hierarchy;
  const auto domains = std::size_t(all.domains());
  auto* const counts = reinterpret_cast<std::int64_t*>(cx.take(2 * domains * sizeof(std::int64_t)));
  if (!counts) return {};
  std::int64_t* const starts = counts + domains;
  bool are_equal = true;
  for (int domain = 0, position = 0; domain < all.domains(); ++domain) {
    const auto members = int(all.members(domain).size());
    starts[domain] = packed.starts[position];
    position += members;
    counts[domain] = packed.starts[position - 1] + packed.counts[position - 1] - starts[domain];
    are_equal &= counts[domain] == counts[0];
  }
  if (are_equal) return Blocks::equal(packed.data, counts[0], nullptr);
  return Blocks::varied(packed.data, IntArray{counts, true}, IntArray{starts, true}, nullptr);
}

}  // namespace

Task allgather_hierarchical(Cx cx, Block mine, Blocks all) {
  const Hierarchy& hierarchy = *cx.hierarchy;
  const Reservation before = cx.reserve(), after = cx.reserve();
  const Cx domain = cx.domain(before);
  const std::span<const int> order = hierarchy.order();
  auto* const counts = reinterpret_cast<std::int64_t*>(cx.take(2 * order.size() * sizeof(std::int64_t)));
  if (!counts) co_return Err::no_mem;
  Packed packed{all.base, counts, counts + order.size(), 0};
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    packed.starts[i] = bytes;
    bytes += packed.counts[i] = std::int64_t(all[order[i]].bytes());
    if (order[i] == cx.rank) packed.first = int(i) - domain.rank;
  }
  const bool is_in_place = hierarchy.is_in_order() && all.is_equal() && all[0].is_contiguous();
  if (!is_in_place) packed.data = cx.take(std::size_t(bytes));
  if (!packed.data) co_return Err::no_mem;
  const Blocks near = packed.of_domain();
  if (!is_in_place) copy(mine, near[domain.rank]);

  co_await gather_varied(domain, near[domain.rank], near, 0, true);
  if (domain.rank == 0) {
    const Blocks domains = by_domain(cx, packed);
    co_await start_allgather(cx.leaders(0, -1), domains[hierarchy.domain_of(cx.rank)], domains);
  }
  co_await start_bcast(cx.domain(after), Block::of_bytes(packed.data, std::size_t(bytes)), 0);
  for (std::size_t i = 0; i < order.size() && !is_in_place; ++i)
    if (order[i] != cx.rank)
      copy(Block::of_bytes(packed.data + packed.starts[i], std::size_t(packed.counts[i])), all[order[i]]);
  co_await leave(domain, &before);
  co_await leave(domain, &after);
  co_return Err::ok;
}

}  // namespace dunlin::coll
