// Alltoall of short equal blocks in ceil(lg p) rounds: in round k all blocks whose distance to go has bit k
// set move 2^k.
//
// Cost: ceil(lg p) * (alpha + n/2 beta) + three local copies, n bytes a rank.
// Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997.
// Position i holds the block that still has to travel i ranks; when all have moved, position i came from rank
// me - i.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task alltoall_bruck(Cx cx, Blocks send, Blocks recv) {
  const std::size_t bytes = send[0].bytes();
  std::byte* held = cx.take(std::size_t(cx.size) * bytes);
  std::byte* out = cx.take(std::size_t(cx.size + 1) / 2 * bytes);
  std::byte* in = cx.take(std::size_t(cx.size + 1) / 2 * bytes);
  if (!held || !out || !in) co_return Err::no_mem;
  for (int i = 0; i < cx.size; ++i)
    copy(send[cx.wrapped(cx.rank + i)], Block::of_bytes(held + std::size_t(i) * bytes, bytes));
  for (int distance = 1; distance < cx.size; distance *= 2) {
    std::size_t moved = 0;
    for (int i = distance; i < cx.size; ++i)
      if (i & distance) {
        std::memcpy(out + moved, held + std::size_t(i) * bytes, bytes);
        moved += bytes;
      }
    DUNLIN_ASSERT(moved <= std::size_t(cx.size + 1) / 2 * bytes);
    const Block away = Block::of_bytes(out, moved), here = Block::of_bytes(in, moved);
    co_await cx.sendrecv(away.source(), cx.wrapped(cx.rank + distance), here.target(),
                         cx.wrapped(cx.rank - distance));
    moved = 0;
    for (int i = distance; i < cx.size; ++i)
      if (i & distance) {
        std::memcpy(held + std::size_t(i) * bytes, in + moved, bytes);
        moved += bytes;
      }
    DUNLIN_ASSERT(moved == here.bytes());
  }
  for (int i = 0; i < cx.size; ++i)
    copy(Block::of_bytes(held + std::size_t(i) * bytes, bytes), recv[cx.wrapped(cx.rank - i)]);
  co_return Err::ok;
}

}  // namespace dunlin::coll
