// Scatter of short equal blocks down a binomial tree; each rank gets its subtree's blocks as one packed
// message.
//
// The mirror image of gather_binomial.  Cost: ceil(lg p) * alpha + (p-1)/p * n beta, n bytes altogether.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task scatter_binomial(Cx cx, Blocks all, Block mine, int root, bool in_place) {
  const int place = cx.wrapped(cx.rank - root);
  const bool is_root = place == 0;
  const std::size_t bytes = is_root ? all[cx.rank].bytes() : mine.bytes();
  int subtree = 1;  // ranks, with this one
  while (subtree < cx.size && !(place & subtree)) subtree *= 2;
  int bit = subtree / 2;  // distance of the farthest child
  subtree = std::min(subtree, cx.size - place);

  if (subtree == 1 && !is_root) {
    co_await cx.recv(mine.target(), cx.wrapped((place & (place - 1)) + root));
    co_return Err::ok;
  }
  std::byte* packed = cx.take(std::size_t(subtree) * bytes);
  if (!packed) co_return Err::no_mem;
  const Block whole = Block::of_bytes(packed, std::size_t(subtree) * bytes);
  if (is_root)
    for (int to = 0; to < cx.size; ++to)
      copy(all[cx.wrapped(to + root)], Block::of_bytes(packed + std::size_t(to) * bytes, bytes));
  else
    co_await cx.recv(whole.target(), cx.wrapped((place & (place - 1)) + root));
  DUNLIN_ASSERT(!is_root || subtree == cx.size);
  int scattered = 1;  // blocks, with our own
  for (; bit > 0; bit /= 2) {
    if (bit >= subtree) continue;
    const int count = std::min(bit, subtree - bit);
    const Block theirs = Block::of_bytes(packed + std::size_t(bit) * bytes, std::size_t(count) * bytes);
    cx.post_send(theirs.source(), cx.wrapped(place + bit + root));
    scattered += count;
  }
  DUNLIN_ASSERT(scattered == subtree);
  if (!(is_root && in_place)) copy(Block::of_bytes(packed, bytes), mine);
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
