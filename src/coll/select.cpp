// The choice of algorithms; see select.hpp.  Thresholds are first guesses from the alpha-beta model for two
// cores and are settings; every algorithm can be forced.
#include "coll/select.hpp"

#include <algorithm>
#include <string_view>

#include "base/variable.hpp"
#include "progress/engine.hpp"

namespace dunlin::coll {
namespace {

/// The setting of an algorithm; its position among the words is looked up once, not at every call.  The words
/// are "auto", algorithms by messages, "shared", and for long data "direct".
class Choice {
 public:
  Choice(const char* name, const char* words, const char* meaning) noexcept
      : variable_(name, "auto", words, meaning) {
    const std::string_view all = words;
    has_direct_ = all.ends_with("|direct");
    shared_ = int(std::count(all.begin(), all.end(), '|')) - (has_direct_ ? 1 : 0);
  }
  /// 0: auto; 1...: the algorithms by messages in order.
  int by_messages() noexcept {
    const int index = get();
    return index < shared_ ? index : 0;
  }
  /// Whether a collective in which some rank puts `bytes` into shared memory does so.
  bool is_shared(const Cx& cx, std::size_t bytes) noexcept;
  /// Whether one that moves `bytes` of some rank goes straight from buffer to buffer.
  bool is_direct(const Cx& cx, std::size_t bytes) noexcept;

 private:
  int get() noexcept {
    if (variable_.get() != seen_) [[unlikely]] {
      seen_ = variable_.get();
      index_ = variable_.index();
    }
    return index_;
  }

  WordVariable variable_;
  const char* seen_ = nullptr;
  int index_ = 0;
  int shared_;
  bool has_direct_;
};

Choice barrier_choice{"COLL_BARRIER", "auto|dissemination|linear|shared", "algorithm of MPI_Barrier"};
Choice bcast_choice{"COLL_BCAST", "auto|binomial|scatter_allgather|linear|shared|direct",
                    "algorithm of MPI_Bcast"};
Choice gather_choice{"COLL_GATHER", "auto|binomial|linear|shared|direct", "algorithm of MPI_Gather"};
Choice scatter_choice{"COLL_SCATTER", "auto|binomial|linear|shared|direct", "algorithm of MPI_Scatter"};
Choice allgather_choice{"COLL_ALLGATHER", "auto|recursive_doubling|bruck|ring|linear|shared|direct",
                        "algorithm of MPI_Allgather"};
Choice alltoall_choice{"COLL_ALLTOALL", "auto|bruck|pairwise|shared|direct", "algorithm of MPI_Alltoall"};
Choice reduce_choice{"COLL_REDUCE", "auto|binomial|linear|shared|direct", "algorithm of MPI_Reduce"};
Choice allreduce_choice{"COLL_ALLREDUCE", "auto|recursive_doubling|rabenseifner|ring|linear|shared|direct",
                        "algorithm of MPI_Allreduce"};
Choice scan_choice{"COLL_SCAN", "auto|recursive_doubling|shared", "algorithm of MPI_Scan and MPI_Exscan"};
Choice reduce_scatter_choice{"COLL_REDUCE_SCATTER", "auto|by_reduce|pairwise|shared|direct",
                             "algorithm of MPI_Reduce_scatter and MPI_Reduce_scatter_block"};

IntVariable bcast_long{"COLL_BCAST_LONG", 256 << 10, "bytes",
                       "broadcasts from this size on are scattered and gathered", 0};
IntVariable gather_long{"COLL_GATHER_LONG", 4 << 10, "bytes",
                        "gather and scatter blocks from this size on go straight between rank and root", 0};
IntVariable allgather_long{"COLL_ALLGATHER_LONG", 64 << 10, "bytes",
                           "allgathers from this size on (all blocks together) go round a ring", 0};
IntVariable alltoall_short{"COLL_ALLTOALL_SHORT", 256, "bytes",
                           "alltoall blocks up to this size travel together", 0};
IntVariable allreduce_long{"COLL_ALLREDUCE_LONG", 8 << 10, "bytes",
                           "allreduces from this size on are divided among the ranks", 0};
IntVariable allreduce_ring_bytes{
    "COLL_ALLREDUCE_RING", 4 << 20, "bytes",
    "allreduces from this size on go round a ring when the ranks are no power of two", 0};
IntVariable reduce_scatter_long{"COLL_REDUCE_SCATTER_LONG", 8 << 10, "bytes",
                                "reduce-scatters from this size on exchange parts in pairs", 0};
IntVariable linear_bytes{
    "COLL_LINEAR_BYTES", 256 << 10, "bytes",
    "where ranks share cores, allreduces and reduce-scatters up to this size go through one rank", 0};
IntVariable linear_ranks{
    "COLL_LINEAR_RANKS", 32, "ranks",
    "where ranks share cores, short collectives go through one rank up to this many ranks", 0};
IntVariable shared_bytes{"COLL_SHARED_BYTES",
                         16 << 10,
                         "bytes",
                         "collectives in which no rank puts in more than this work in shared memory",
                         0,
                         transport::shm::Commons::kRoomBytes};

IntVariable direct_bytes{"COLL_DIRECT_BYTES", 16 << 10, "bytes",
                         "longer ones go straight from buffer to buffer from this size on", 1};

bool Choice::is_shared(const Cx& cx, std::size_t bytes) noexcept {
  constexpr std::size_t kRoomBytes = transport::shm::Commons::kRoomBytes;
  if (!cx.region) return false;
  const int chosen = get();
  return chosen == 0 ? bytes <= std::size_t(shared_bytes.get()) : chosen == shared_ && bytes <= kRoomBytes;
}

bool Choice::is_direct(const Cx& cx, std::size_t bytes) noexcept {
  if (!cx.region || !has_direct_ || bytes == 0) return false;
  const int chosen = get();
  return chosen == 0 ? bytes >= std::size_t(direct_bytes.get()) : chosen == shared_ + 1;
}

bool is_power_of_two(int n) noexcept { return (n & (n - 1)) == 0; }

/// More ranks than cores: the fewest waits per rank win, whatever one rank has to do meanwhile
/// (docs/decisions/0005).
bool prefers_linear(const Cx& cx) noexcept {
  return cx.run->engine.does_job_share_cores() && cx.size <= linear_ranks.get();
}

}  // namespace

Task start_barrier(const Cx& cx) noexcept {
  if (barrier_choice.is_shared(cx, 0)) return barrier_shared(cx);
  const int chosen = barrier_choice.by_messages();
  if (chosen == 2 || (chosen == 0 && prefers_linear(cx))) return barrier_linear(cx);
  return barrier_dissemination(cx);
}

Task start_bcast(const Cx& cx, Block block, int root) noexcept {
  if (bcast_choice.is_shared(cx, block.bytes())) return bcast_shared(cx, block, root);
  if (bcast_choice.is_direct(cx, block.bytes())) return bcast_direct(cx, block, root);
  return bcast_by_messages(cx, block, root);
}

Task bcast_by_messages(const Cx& cx, Block block, int root) noexcept {
  if (cx.size == 2) return bcast_binomial(cx, block, root);  // one message
  switch (bcast_choice.by_messages()) {
    case 1:
      return bcast_binomial(cx, block, root);
    case 2:
      return bcast_scatter_allgather(cx, block, root);
    case 3:
      return bcast_linear(cx, block, root);
    default:
      break;
  }
  if (prefers_linear(cx)) return bcast_linear(cx, block, root);
  if (block.bytes() >= std::size_t(bcast_long.get())) return bcast_scatter_allgather(cx, block, root);
  return bcast_binomial(cx, block, root);
}

Task start_gather(const Cx& cx, Block mine, Blocks all, int root, bool in_place) noexcept {
  const std::size_t bytes = in_place ? all[root].bytes() : mine.bytes();
  if (gather_choice.is_shared(cx, bytes)) return gather_shared(cx, mine, all, root, in_place);
  if (gather_choice.is_direct(cx, bytes)) return gather_direct(cx, mine, all, root, in_place);
  return gather_by_messages(cx, mine, all, root, in_place);
}

// Gather and scatter of two ranks are one message: nothing to pack.
Task gather_by_messages(const Cx& cx, Block mine, Blocks all, int root, bool in_place) noexcept {
  const std::size_t bytes = in_place ? all[root].bytes() : mine.bytes();
  const int chosen = gather_choice.by_messages();
  const bool is_short = bytes < std::size_t(gather_long.get()) && cx.size > 2 && !prefers_linear(cx);
  if (chosen == 1 || (chosen == 0 && is_short)) return gather_binomial(cx, mine, all, root, in_place);
  return gather_linear(cx, mine, all, root, in_place);
}

Task start_scatter(const Cx& cx, Blocks all, Block mine, int root, bool in_place) noexcept {
  const std::size_t bytes = in_place ? all[root].bytes() : mine.bytes();
  if (scatter_choice.is_shared(cx, bytes * std::size_t(cx.size)))
    return scatter_shared(cx, all, mine, root, in_place);
  if (scatter_choice.is_direct(cx, bytes)) return scatter_direct(cx, all, mine, root, in_place);
  return scatter_by_messages(cx, all, mine, root, in_place);
}

Task scatter_by_messages(const Cx& cx, Blocks all, Block mine, int root, bool in_place) noexcept {
  const std::size_t bytes = in_place ? all[root].bytes() : mine.bytes();
  const int chosen = scatter_choice.by_messages();
  const bool is_short = bytes < std::size_t(gather_long.get()) && cx.size > 2 && !prefers_linear(cx);
  if (chosen == 1 || (chosen == 0 && is_short)) return scatter_binomial(cx, all, mine, root, in_place);
  return scatter_linear(cx, all, mine, root, in_place);
}

Task start_allgather(const Cx& cx, Blocks all) noexcept {
  std::size_t bytes_max = 0;
  for (int rank = 0; rank < (all.is_equal() ? 1 : cx.size); ++rank)
    bytes_max = std::max(bytes_max, all[rank].bytes());
  if (allgather_choice.is_shared(cx, bytes_max)) return allgather_shared(cx, all);
  if (allgather_choice.is_direct(cx, bytes_max)) return allgather_direct(cx, all);
  return allgather_by_messages(cx, all);
}

Task allgather_by_messages(const Cx& cx, Blocks all) noexcept {
  const int chosen = allgather_choice.by_messages();
  if (chosen == 4 || (chosen == 0 && prefers_linear(cx))) return allgather_linear(cx, all);
  const std::size_t bytes = all[cx.rank].bytes() * std::size_t(cx.size);
  const bool is_long = chosen == 0 ? bytes >= std::size_t(allgather_long.get()) && cx.size > 2 : chosen == 3;
  if (is_long || !all.is_equal()) return allgather_ring(cx, all);
  if (is_power_of_two(cx.size) && chosen != 2) return allgather_recursive_doubling(cx, all);
  return allgather_bruck(cx, all);
}

Task start_alltoall(const Cx& cx, Blocks send, Blocks recv, bool in_place) noexcept {
  const std::size_t bytes = recv[cx.rank].bytes() * std::size_t(cx.size);
  if (alltoall_choice.is_shared(cx, bytes)) return alltoall_shared(cx, send, recv);
  if (in_place) return alltoall_in_place(cx, recv);
  if (alltoall_choice.is_direct(cx, bytes)) return alltoall_direct(cx, send, recv);
  return alltoall_by_messages(cx, send, recv);
}

Task alltoall_by_messages(const Cx& cx, Blocks send, Blocks recv) noexcept {
  const int chosen = alltoall_choice.by_messages();
  const bool is_short =
      recv[cx.rank].bytes() <= std::size_t(alltoall_short.get()) && cx.size >= 8 && !prefers_linear(cx);
  if (chosen == 1 || (chosen == 0 && is_short)) return alltoall_bruck(cx, send, recv);
  return alltoall_pairwise(cx, send, recv);
}

Task start_reduce(const Cx& cx, Reduction r, int root) noexcept {
  if (reduce_choice.is_shared(cx, r.bytes())) return reduce_shared(cx, r, root);
  if (reduce_choice.is_direct(cx, r.bytes())) return reduce_direct(cx, r, root);
  return reduce_by_messages(cx, r, root);
}

Task reduce_by_messages(const Cx& cx, Reduction r, int root) noexcept {
  const int chosen = reduce_choice.by_messages();
  if (chosen == 2 || (chosen == 0 && prefers_linear(cx))) return reduce_linear(cx, r, root);
  return reduce_binomial(cx, r, root);
}

Task start_allreduce(const Cx& cx, Reduction r) noexcept {
  if (allreduce_choice.is_shared(cx, r.bytes())) return allreduce_shared(cx, r);
  if (allreduce_choice.is_direct(cx, r.bytes())) return allreduce_direct(cx, r);
  return allreduce_by_messages(cx, r);
}

Task allreduce_by_messages(const Cx& cx, Reduction r) noexcept {
  const int chosen = allreduce_choice.by_messages();
  const std::size_t bytes = r.bytes();
  if (chosen == 4 || (chosen == 0 && prefers_linear(cx) && bytes <= std::size_t(linear_bytes.get())))
    return allreduce_linear(cx, r);
  const bool is_divisible = r.op->is_commutative() && r.count >= cx.size;
  const bool is_long = chosen == 0 ? bytes >= std::size_t(allreduce_long.get()) : chosen != 1;
  if (!is_divisible || !is_long) return allreduce_recursive_doubling(cx, r);
  const bool is_very_long = bytes >= std::size_t(allreduce_ring_bytes.get()) && !is_power_of_two(cx.size);
  if (chosen == 3 || (chosen == 0 && is_very_long)) return allreduce_ring(cx, r);
  return allreduce_rabenseifner(cx, r);
}

Task start_scan(const Cx& cx, Reduction r, bool is_exclusive) noexcept {
  if (scan_choice.is_shared(cx, r.bytes())) return scan_shared(cx, r, is_exclusive);
  return is_exclusive ? exscan_recursive_doubling(cx, r) : scan_recursive_doubling(cx, r);
}

Task start_reduce_scatter(const Cx& cx, Reduction r, Blocks parts) noexcept {
  if (reduce_scatter_choice.is_shared(cx, r.bytes())) return reduce_scatter_shared(cx, r, parts);
  if (reduce_scatter_choice.is_direct(cx, r.bytes())) return reduce_scatter_direct(cx, r, parts);
  return reduce_scatter_by_messages(cx, r, parts);
}

Task reduce_scatter_by_messages(const Cx& cx, Reduction r, Blocks parts) noexcept {
  const int chosen = reduce_scatter_choice.by_messages();
  // Up to four ranks, exchanging parts takes no more steps than a reduce and a scatter.
  const std::int64_t long_from = cx.size <= 4 ? 0 : reduce_scatter_long.get();
  const std::int64_t divided_from = prefers_linear(cx) ? linear_bytes.get() + 1 : long_from;
  const bool is_long = chosen == 0 ? r.bytes() >= std::size_t(divided_from) : chosen == 2;
  if (r.op->is_commutative() && is_long) return reduce_scatter_pairwise(cx, r, parts);
  return reduce_scatter_by_reduce(cx, r, parts);
}

}  // namespace dunlin::coll
