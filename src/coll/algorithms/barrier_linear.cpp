// Barrier through rank 0, which hears everybody and then tells everybody.
//
// Cost: 2 (p-1) * alpha at rank 0; but every other rank waits only once, and that is what counts where ranks
// share a core: each has to get the core back once instead of ceil(lg p) times.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task barrier_linear(Cx cx) {
  if (cx.rank != 0) {
    co_await cx.sendrecv(Source{}, 0, Target{}, 0);
    co_return Err::ok;
  }
  for (int from = 1; from < cx.size; ++from) co_await cx.recv(Target{}, from);
  for (int to = 1; to < cx.size; ++to) cx.post_send(Source{}, to);
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
