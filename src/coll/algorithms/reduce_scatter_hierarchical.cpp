// Reduce-scatter over domains of equal size, in two dimensions: in each domain the member at every place
// combines what goes to all ranks at that place, then those at the same place combine over the domains.
//
// Every member leads: between domains travels what has been combined in them, 1/m of what the ranks have.
// Operands are put in the order of places first.  They are combined domain after domain, so operators that do
// not commute need domains in the order of ranks.
// Cost, with d domains of m members: n beta for the order, a reduce-scatter in shared memory; between domains
// as the algorithm chosen for d ranks and n/m bytes.
#include "coll/algorithms/algorithms.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {

Task reduce_scatter_hierarchical(Cx cx, Reduction r, Blocks parts) {
  const Hierarchy& all = *cx.hierarchy;
  const Cx domain = cx.domain(0);
  const int domains = all.domains(), places = domain.size;
  const auto words = std::size_t(domains + places);
  auto* const counts = reinterpret_cast<std::int64_t*>(cx.take(2 * words * sizeof(std::int64_t)));
  std::byte* const arranged = cx.take_elements(r.count, *r.type);
  if (!counts || !arranged) co_return Err::no_mem;
  std::int64_t* const starts = counts + words;                                            // of places
  std::int64_t *const far_counts = counts + places, *const far_starts = starts + places;  // of domains

  Blocks given = parts;
  given.base = const_cast<std::byte*>(r.mine);
  bool are_equal = true;  // then the far ranks may pass parts on for each other
  std::int64_t position = 0;
  for (int place = 0; place < places; ++place) {
    starts[place] = position;
    for (int number = 0; number < domains; ++number) {
      const Block part = given[all.members(number)[std::size_t(place)]];
      copy(part, r.part(arranged, position, position + part.count));
      if (place == domain.rank) {
        far_counts[number] = part.count;
        far_starts[number] = position - starts[place];
        are_equal &= part.count == far_counts[0];
      }
      position += part.count;
    }
    counts[place] = position - starts[place];
  }

  Reduction near = r, far = r;
  far.count = counts[domain.rank];
  near.mine = arranged;
  near.result = cx.take_elements(far.count, *r.type);
  far.mine = near.result;
  co_await start_reduce_scatter(
      domain, near, Blocks::varied(nullptr, IntArray{counts, true}, IntArray{starts, true}, r.type));
  const Blocks far_parts =
      are_equal ? Blocks::equal(nullptr, far_counts[0], r.type)
                : Blocks::varied(nullptr, IntArray{far_counts, true}, IntArray{far_starts, true}, r.type);
  co_await start_reduce_scatter(cx.leaders(domain.rank, -1), far, far_parts);
  co_return Err::ok;
}

}  // namespace dunlin::coll
