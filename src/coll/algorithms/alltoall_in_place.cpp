// Alltoall(v, w) with MPI_IN_PLACE: ranks meet in pairs and swap the blocks they have for each other.
//
// In round k the partner of rank r is (k - r) mod p, which is symmetric; with itself a rank has nothing to
// do. Cost: p * (alpha + n/p beta) + one local copy of every block; memory for the largest block.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task alltoall_in_place(Cx cx, Blocks blocks) {
  if (cx.share_memory() && blocks.is_equal()) {  // a rank with short blocks sends no messages
    const Turn turn = cx.turn();
    const std::size_t bytes = blocks[0].bytes();
    co_await cx.until(turn.place_is_free());
    turn.arrive(bytes);
    co_await cx.until(turn.all_are_there());
    bool do_agree = true;
    for (int member = 0; member < cx.size && do_agree; ++member) do_agree = cx.agrees(turn, member, bytes);
    turn.leave(true);
    if (!do_agree) co_return Err::ok;  // an error of all
  }
  std::size_t bytes_max = 0;
  for (int i = 0; i < cx.size; ++i) bytes_max = std::max(bytes_max, blocks[i].bytes());
  std::byte* packed = cx.take(bytes_max);
  if (!packed) co_return Err::no_mem;
  for (int round = 0; round < cx.size; ++round) {
    const int peer = cx.wrapped(round - cx.rank);
    const Block swapped = blocks[peer];
    if (peer == cx.rank || (swapped.bytes() == 0 && !blocks.is_equal())) continue;
    const Block out = Block::of_bytes(packed, swapped.bytes());
    copy(swapped, out);
    co_await cx.sendrecv(out.source(), peer, swapped.target(), peer);
  }
  co_return Err::ok;
}

}  // namespace dunlin::coll
