// Every rank sends a block to, and receives a block from, every rank of the other group of an
// inter-communicator.
//
// Serves allgather, allgatherv, alltoall, alltoallv and alltoallw.  In round k of max(p, q) rounds rank r
// sends to rank r + k of the other group and receives from r - k, where these exist: sender and receiver meet
// in the same round. Cost: max(p, q) * alpha + n beta, n the larger of the bytes sent and received.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task exchange_inter(Cx cx, Blocks send, Blocks recv) {
  constexpr int kBunch = 16;
  const int remote = cx.remote_size();
  const int rounds = std::max(cx.size, remote);
  for (int round = 0; round < rounds; ++round) {
    const int to = (cx.rank + round) % rounds, from = (cx.rank - round + rounds) % rounds;
    if (from < remote) {
      const Block in = recv[from];
      if (in.bytes() > 0) cx.post_recv(in.target(), from);
    }
    if (to < remote) {
      const Block out = send[to];
      if (out.bytes() > 0) cx.post_send(out.source(), to);
    }
    if (round % kBunch == kBunch - 1) co_await cx.all();
  }
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
