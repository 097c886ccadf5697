// Broadcast of long messages: the root scatters p pieces down a binomial tree, a ring puts them together
// everywhere.
//
// Cost: (ceil(lg p) + p - 1) * alpha + 2 (p-1)/p * n beta, against lg p * n beta of the plain tree.
// Source: van de Geijn and others; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.2.
// Data that is not contiguous is packed once at the root and unpacked once elsewhere.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {
namespace {

/// The message in p pieces by distance from the root; the last ones may be short or empty.
struct Pieces {
  std::byte* data;
  std::size_t bytes;  // altogether
  std::size_t piece_bytes;
  std::size_t start(int place) const noexcept { return std::min(bytes, std::size_t(place) * piece_bytes); }
  Block range(int first, int last) const noexcept {
    return Block::of_bytes(data + start(first), start(last) - start(first));
  }
};

Task scatter_pieces(Cx cx, Pieces pieces, int root) {
  const int place = cx.wrapped(cx.rank - root);
  int bit = 1;
  for (; bit < cx.size; bit *= 2)
    if (place & bit) {
      const Block mine = pieces.range(place, std::min(place + bit, cx.size));
      if (mine.count > 0) co_await cx.recv(mine.target(), cx.wrapped(place - bit + root));
      break;
    }
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit >= cx.size) continue;
    const Block theirs = pieces.range(place + bit, std::min(place + 2 * bit, cx.size));
    if (theirs.count > 0) cx.post_send(theirs.source(), cx.wrapped(place + bit + root));
  }
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace

Task bcast_scatter_allgather(Cx cx, Block block, int root) {
  const std::size_t bytes = block.bytes();
  Pieces pieces{block.at, bytes, (bytes + std::size_t(cx.size) - 1) / std::size_t(cx.size)};
  if (!block.is_contiguous()) {
    pieces.data = cx.take(bytes);
    if (!pieces.data) co_return Err::no_mem;
    if (cx.rank == root) copy(block, Block::of_bytes(pieces.data, bytes));
  }
  co_await scatter_pieces(cx, pieces, root);

  const int place = cx.wrapped(cx.rank - root);
  const int right = cx.wrapped(cx.rank + 1), left = cx.wrapped(cx.rank - 1);
  std::size_t have = pieces.range(place, place + 1).bytes();
  for (int step = 0; step < cx.size - 1; ++step) {
    const int sent = cx.wrapped(place - step);
    const int received = cx.wrapped(place - step - 1);
    const Block out = pieces.range(sent, sent + 1), in = pieces.range(received, received + 1);
    if (out.count > 0) cx.post_send(out.source(), right);
    if (in.count > 0) cx.post_recv(in.target(), left);
    co_await cx.all();
    have += in.bytes();
  }
  DUNLIN_ASSERT(have == bytes);
  if (!block.is_contiguous() && cx.rank != root) copy(Block::of_bytes(pieces.data, bytes), block);
  co_return Err::ok;
}

}  // namespace dunlin::coll
