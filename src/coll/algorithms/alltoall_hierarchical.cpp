// Alltoall of short equal blocks over domains of equal size, in two dimensions: in each domain everybody
// gives the member at every place the blocks for all ranks at that place, then those at the same place
// exchange what goes from domain to domain.
//
// Every member leads: no byte crosses between domains but once, in d-1 messages of a rank instead of p-1.
// In place, too: all blocks are read before the first is written.
// Cost, with d domains of m members: an alltoall of blocks of d n bytes in shared memory, 3 p n beta for
// arranging blocks; between domains as the algorithm chosen for d ranks with blocks of m n bytes.
#include "coll/algorithms/algorithms.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {
namespace {

/// Blocks in rows and columns.
struct Grid {
  std::byte* data;
  std::size_t bytes;  // of a block
  int columns;
  Block operator()(int row, int column) const noexcept {
    const auto before = std::size_t(row) * std::size_t(columns) + std::size_t(column);
    return Block::of_bytes(data + before * bytes, bytes);
  }
  Blocks rows() const noexcept { return Blocks::equal(data, std::int64_t(bytes) * columns, nullptr); }
};

}  // namespace

Task alltoall_hierarchical(Cx cx, Blocks send, Blocks recv) {
  const Hierarchy& all = *cx.hierarchy;
  const Cx domain = cx.domain(0);
  const int domains = all.domains(), places = domain.size;
  const std::size_t bytes = recv[0].bytes();
  std::byte* const first = cx.take(bytes * std::size_t(cx.size));
  std::byte* const second = cx.take(bytes * std::size_t(cx.size));
  if (!first || !second) co_return Err::no_mem;

  const Grid out{first, bytes, domains}, in{second, bytes, domains};  // a row for each place
  for (int number = 0; number < domains; ++number)
    for (int place = 0; place < places; ++place)
      copy(send[all.members(number)[std::size_t(place)]], out(place, number));
  co_await start_alltoall(domain, out.rows(), in.rows(), false);

  const Grid far_out{first, bytes, places}, far_in{second, bytes, places};  // a row for each domain
  for (int number = 0; number < domains; ++number)
    for (int place = 0; place < places; ++place) copy(in(place, number), far_out(number, place));
  co_await start_alltoall(cx.leaders(domain.rank, -1), far_out.rows(), far_in.rows(), false);
  for (int number = 0; number < domains; ++number)
    for (int place = 0; place < places; ++place)
      copy(far_in(number, place), recv[all.members(number)[std::size_t(place)]]);
  co_return Err::ok;
}

}  // namespace dunlin::coll
