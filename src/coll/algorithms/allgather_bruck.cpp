// Allgather of short equal blocks for any p: as recursive doubling, but round the circle, then rotated into
// place.
//
// In round k a rank sends all it has (at most) to the one 2^k before it.  Blocks are packed in the order me,
// me+1, ... Cost: ceil(lg p) * alpha + (p-1)/p * n beta + one local copy. Source: Bruck, Ho, Kipnis, Upfal,
// Weathersby, IEEE TPDS 8(11), 1997.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task allgather_bruck(Cx cx, Blocks all) {
  const Block mine = all[cx.rank];
  const std::size_t bytes = mine.bytes();
  std::byte* packed = cx.take(std::size_t(cx.size) * bytes);
  if (!packed) co_return Err::no_mem;
  copy(mine, Block::of_bytes(packed, bytes));
  std::size_t filled = bytes;
  for (int have = 1; have < cx.size; have *= 2) {
    const std::size_t moved = std::size_t(std::min(have, cx.size - have)) * bytes;
    const Block out = Block::of_bytes(packed, moved);
    const Block in = Block::of_bytes(packed + std::size_t(have) * bytes, moved);
    co_await cx.sendrecv(out.source(), cx.wrapped(cx.rank - have), in.target(), cx.wrapped(cx.rank + have));
    DUNLIN_ASSERT(filled == std::size_t(have) * bytes);
    filled += moved;
  }
  DUNLIN_ASSERT(filled == std::size_t(cx.size) * bytes);
  for (int i = 1; i < cx.size; ++i)
    copy(Block::of_bytes(packed + std::size_t(i) * bytes, bytes), all[cx.wrapped(cx.rank + i)]);
  co_return Err::ok;
}

}  // namespace dunlin::coll
