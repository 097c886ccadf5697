// Gather of short equal blocks up a binomial tree; each rank passes on its subtree's blocks as one packed
// message.
//
// Ranks are counted from the root; the subtree of a rank is the run of ranks behind it, so blocks stay in
// order. Cost: ceil(lg p) * alpha + (p-1)/p * n beta, n bytes altogether.  Trace for p = 5: 1->0, 3->2;
// {2,3}->0; 4->0.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task gather_binomial(Cx cx, Block mine, Blocks all, int root, bool in_place) {
  const int place = cx.wrapped(cx.rank - root);
  const bool is_root = place == 0;
  if (is_root && in_place) mine = all[cx.rank];
  const std::size_t bytes = mine.bytes();
  int subtree = 1;  // ranks, with this one
  while (subtree < cx.size && !(place & subtree)) subtree *= 2;
  subtree = std::min(subtree, cx.size - place);

  const bool is_leaf = subtree == 1 && !is_root;
  std::byte* packed = nullptr;
  if (!is_leaf) {
    packed = cx.take(std::size_t(subtree) * bytes);
    if (!packed) co_return Err::no_mem;
    copy(mine, Block::of_bytes(packed, bytes));
  }
  DUNLIN_ASSERT(!is_root || subtree == cx.size);
  int gathered = 1;  // blocks
  for (int bit = 1; bit < subtree; bit *= 2) {
    const int count = std::min(bit, subtree - bit);
    const Block theirs = Block::of_bytes(packed + std::size_t(bit) * bytes, std::size_t(count) * bytes);
    co_await cx.recv(theirs.target(), cx.wrapped(place + bit + root));
    gathered += count;
  }
  DUNLIN_ASSERT(gathered == subtree);
  if (!is_root) {
    const Block out = is_leaf ? mine : Block::of_bytes(packed, std::size_t(subtree) * bytes);
    co_await cx.send(out.source(), cx.wrapped((place & (place - 1)) + root));
    co_return Err::ok;
  }
  for (int from = in_place ? 1 : 0; from < cx.size; ++from)
    copy(Block::of_bytes(packed + std::size_t(from) * bytes, bytes), all[cx.wrapped(from + root)]);
  co_return Err::ok;
}

}  // namespace dunlin::coll
