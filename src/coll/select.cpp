// The choice of algorithms; see select.hpp.  Thresholds of algorithms by messages are first guesses from the
// alpha-beta model for two cores.  They are settings, and every algorithm can be forced.
#include "coll/select.hpp"

#include <algorithm>
#include <string_view>

#include "base/variable.hpp"
#include "progress/engine.hpp"

namespace dunlin::coll {
namespace {

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
// On 2 cores of an AMD EPYC (Zen 4): allreduce of 4 KiB on 2 ranks 1.0 us, from buffer to buffer .6 where
// they map and 1.0 where not; 8 ranks 22 us, through shared memory from and to all buffers 29, at 32 KiB 53
// and 55.
IntVariable shared_bytes{
    "COLL_SHARED_BYTES",
    4 << 10,
    "bytes",
    "where ranks share memory: blocks up to this size are put there, longer ones go from "
    "buffer to buffer",
    0,
    transport::shm::Commons::kRoomBytes};
IntVariable shared_bytes_crowded{
    "COLL_SHARED_BYTES_CROWDED",        16 << 10, "bytes", "the same where ranks share cores, too", 0,
    transport::shm::Commons::kRoomBytes};

bool is_short(const Facts& facts) noexcept {
  constexpr std::size_t kRoomBytes = transport::shm::Commons::kRoomBytes;
  const std::int64_t bytes_max = (facts.share_cores ? shared_bytes_crowded : shared_bytes).get();
  return facts.bytes <= std::size_t(bytes_max) && facts.bytes * std::size_t(facts.blocks) <= kRoomBytes;
}

bool is_power_of_two(int n) noexcept { return (n & (n - 1)) == 0; }

/// More ranks than cores: the fewest waits per rank win, whatever one rank has to do meanwhile
/// (docs/decisions/0005).
bool prefers_linear(const Facts& facts) noexcept {
  return facts.share_cores && facts.ranks <= linear_ranks.get();
}

// Algorithms, in the order of the words of their setting.  Those that need shared memory come last.
enum class Barrier { automatic, dissemination, linear, shared };
enum class Bcast { automatic, binomial, scatter_allgather, linear, shared, direct };
enum class Gather { automatic, binomial, linear, shared, direct };  // and scatter
enum class Allgather { automatic, recursive_doubling, bruck, ring, linear, shared, direct };
enum class Alltoall { automatic, bruck, pairwise, shared, direct };
enum class Reduce { automatic, binomial, linear, shared, direct };
enum class Allreduce { automatic, recursive_doubling, rabenseifner, ring, linear, shared, direct };
enum class Scan { automatic, recursive_doubling, shared };
enum class ReduceScatter { automatic, by_reduce, pairwise, shared, direct };

// What is chosen where nothing is forced.
Barrier barrier_for(const Facts& facts) noexcept {
  if (facts.share_memory) return Barrier::shared;
  return prefers_linear(facts) ? Barrier::linear : Barrier::dissemination;
}
Bcast bcast_for(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? Bcast::shared : Bcast::direct;
  if (facts.ranks == 2) return Bcast::binomial;  // one message
  if (prefers_linear(facts)) return Bcast::linear;
  return facts.bytes >= std::size_t(bcast_long.get()) ? Bcast::scatter_allgather : Bcast::binomial;
}
Gather gather_for(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? Gather::shared : Gather::direct;
  const bool is_packed = facts.bytes < std::size_t(gather_long.get()) && facts.ranks > 2;
  return is_packed && !prefers_linear(facts) ? Gather::binomial : Gather::linear;
}
Allgather allgather_for(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? Allgather::shared : Allgather::direct;
  if (prefers_linear(facts)) return Allgather::linear;
  const bool is_long = facts.bytes * std::size_t(facts.ranks) >= std::size_t(allgather_long.get());
  if ((is_long && facts.ranks > 2) || !facts.is_regular) return Allgather::ring;
  return is_power_of_two(facts.ranks) ? Allgather::recursive_doubling : Allgather::bruck;
}
Alltoall alltoall_for(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? Alltoall::shared : Alltoall::direct;
  const bool is_packed = facts.bytes <= std::size_t(alltoall_short.get()) && facts.ranks >= 8;
  return is_packed && !prefers_linear(facts) ? Alltoall::bruck : Alltoall::pairwise;
}
Reduce reduce_for(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? Reduce::shared : Reduce::direct;
  return prefers_linear(facts) ? Reduce::linear : Reduce::binomial;
}
Allreduce allreduce_for(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? Allreduce::shared : Allreduce::direct;
  if (prefers_linear(facts) && facts.bytes <= std::size_t(linear_bytes.get())) return Allreduce::linear;
  if (!facts.is_regular || facts.bytes < std::size_t(allreduce_long.get()))
    return Allreduce::recursive_doubling;
  const bool is_very_long = facts.bytes >= std::size_t(allreduce_ring_bytes.get());
  return is_very_long && !is_power_of_two(facts.ranks) ? Allreduce::ring : Allreduce::rabenseifner;
}
Scan scan_for(const Facts& facts) noexcept {
  return facts.share_memory && is_short(facts) ? Scan::shared : Scan::recursive_doubling;
}
ReduceScatter reduce_scatter_for(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? ReduceScatter::shared : ReduceScatter::direct;
  // Up to four ranks, exchanging parts takes no more steps than a reduce and a scatter.
  const std::int64_t long_from = facts.ranks <= 4 ? 0 : reduce_scatter_long.get();
  const std::int64_t divided_from = prefers_linear(facts) ? linear_bytes.get() + 1 : long_from;
  const bool is_long = facts.bytes >= std::size_t(divided_from);
  return facts.is_regular && is_long ? ReduceScatter::pairwise : ReduceScatter::by_reduce;
}

/// The setting of a collective's algorithm; the position of its word is looked up once, not at every call.
template <class Algorithm>
class Choice {
 public:
  using Rule = Algorithm (*)(const Facts&) noexcept;
  Choice(const char* name, const char* words, const char* meaning, Rule rule) noexcept
      : variable_(name, "auto", words, meaning), rule_(rule), words_(words) {}

  Algorithm of(const Facts& facts) noexcept {
    if (variable_.get() != seen_) [[unlikely]] {
      seen_ = variable_.get();
      forced_ = Algorithm(variable_.index());
    }
    return forced_ != Algorithm::automatic && can(forced_, facts) ? forced_ : rule_(facts);
  }
  /// The word of the algorithm for these facts.
  std::string_view word_of(const Facts& facts) noexcept {
    std::string_view rest = words_;
    for (int left = int(of(facts)); left > 0; --left) rest.remove_prefix(rest.find('|') + 1);
    return rest.substr(0, rest.find('|'));
  }

 private:
  /// Whether a forced algorithm can do it; the others are always able to, or say so by `is_regular`.
  static bool can(Algorithm forced, const Facts& facts) noexcept {
    if (forced >= Algorithm::shared && !facts.share_memory) return false;
    if (forced != Algorithm::shared) return true;
    return facts.bytes * std::size_t(facts.blocks) <= transport::shm::Commons::kRoomBytes;
  }

  WordVariable variable_;
  const Rule rule_;
  const char* const words_;
  const char* seen_ = nullptr;
  Algorithm forced_ = Algorithm::automatic;
};

Choice<Barrier> barrier_choice{"COLL_BARRIER", "auto|dissemination|linear|shared", "algorithm of MPI_Barrier",
                               barrier_for};
Choice<Bcast> bcast_choice{"COLL_BCAST", "auto|binomial|scatter_allgather|linear|shared|direct",
                           "algorithm of MPI_Bcast", bcast_for};
Choice<Gather> gather_choice{"COLL_GATHER", "auto|binomial|linear|shared|direct", "algorithm of MPI_Gather",
                             gather_for};
Choice<Gather> scatter_choice{"COLL_SCATTER", "auto|binomial|linear|shared|direct",
                              "algorithm of MPI_Scatter", gather_for};
Choice<Allgather> allgather_choice{"COLL_ALLGATHER",
                                   "auto|recursive_doubling|bruck|ring|linear|shared|direct",
                                   "algorithm of MPI_Allgather and MPI_Allgatherv", allgather_for};
Choice<Alltoall> alltoall_choice{"COLL_ALLTOALL", "auto|bruck|pairwise|shared|direct",
                                 "algorithm of MPI_Alltoall", alltoall_for};
Choice<Reduce> reduce_choice{"COLL_REDUCE", "auto|binomial|linear|shared|direct", "algorithm of MPI_Reduce",
                             reduce_for};
Choice<Allreduce> allreduce_choice{"COLL_ALLREDUCE",
                                   "auto|recursive_doubling|rabenseifner|ring|linear|shared|direct",
                                   "algorithm of MPI_Allreduce", allreduce_for};
Choice<Scan> scan_choice{"COLL_SCAN", "auto|recursive_doubling|shared",
                         "algorithm of MPI_Scan and MPI_Exscan", scan_for};
Choice<ReduceScatter> reduce_scatter_choice{"COLL_REDUCE_SCATTER", "auto|by_reduce|pairwise|shared|direct",
                                            "algorithm of MPI_Reduce_scatter and MPI_Reduce_scatter_block",
                                            reduce_scatter_for};

Facts facts_of(const Cx& cx, std::size_t bytes, int blocks = 1) noexcept {
  return {cx.size, bytes, blocks, cx.region != nullptr, cx.run->engine.does_job_share_cores(), true};
}

/// Of a reduction; it is regular when every rank may have a part of it.
Facts facts_of(const Cx& cx, const Reduction& r, std::int64_t count_min) noexcept {
  Facts facts = facts_of(cx, r.bytes());
  facts.is_regular = r.op->is_commutative() && r.count >= count_min;
  return facts;
}

}  // namespace

Task start_barrier(const Cx& cx) noexcept {
  switch (barrier_choice.of(facts_of(cx, 0))) {
    case Barrier::shared:
      return barrier_shared(cx);
    case Barrier::linear:
      return barrier_linear(cx);
    default:
      return barrier_dissemination(cx);
  }
}

Task start_bcast(const Cx& cx, Block block, int root) noexcept {
  switch (bcast_choice.of(facts_of(cx, block.bytes()))) {
    case Bcast::shared:
      return bcast_shared(cx, block, root);
    case Bcast::direct:
      return bcast_direct(cx, block, root);
    case Bcast::linear:
      return bcast_linear(cx, block, root);
    case Bcast::scatter_allgather:
      return bcast_scatter_allgather(cx, block, root);
    default:
      return bcast_binomial(cx, block, root);
  }
}

Task start_gather(const Cx& cx, Block mine, Blocks all, int root, bool in_place) noexcept {
  const std::size_t bytes = in_place ? all[root].bytes() : mine.bytes();
  switch (gather_choice.of(facts_of(cx, bytes))) {
    case Gather::shared:
      return gather_shared(cx, mine, all, root, in_place);
    case Gather::direct:
      return gather_direct(cx, mine, all, root, in_place);
    case Gather::binomial:
      return gather_binomial(cx, mine, all, root, in_place);
    default:
      return gather_linear(cx, mine, all, root, in_place);
  }
}

Task start_scatter(const Cx& cx, Blocks all, Block mine, int root, bool in_place) noexcept {
  const std::size_t bytes = in_place ? all[root].bytes() : mine.bytes();
  switch (scatter_choice.of(facts_of(cx, bytes, cx.size))) {
    case Gather::shared:
      return scatter_shared(cx, all, mine, root, in_place);
    case Gather::direct:
      return scatter_direct(cx, all, mine, root, in_place);
    case Gather::binomial:
      return scatter_binomial(cx, all, mine, root, in_place);
    default:
      return scatter_linear(cx, all, mine, root, in_place);
  }
}

Task start_allgather(const Cx& cx, Block mine, Blocks all) noexcept {
  std::size_t bytes_max = 0;
  for (int rank = 0; rank < (all.is_equal() ? 1 : cx.size); ++rank)
    bytes_max = std::max(bytes_max, all[rank].bytes());
  Facts facts = facts_of(cx, bytes_max);
  facts.is_regular = all.is_equal();
  switch (allgather_choice.of(facts)) {
    case Allgather::shared:
      return allgather_shared(cx, all);
    case Allgather::direct:
      return allgather_direct(cx, mine, all);
    case Allgather::linear:
      return allgather_linear(cx, all);
    case Allgather::bruck:
      return all.is_equal() ? allgather_bruck(cx, all) : allgather_ring(cx, all);
    case Allgather::recursive_doubling:
      if (!all.is_equal()) return allgather_ring(cx, all);
      return is_power_of_two(cx.size) ? allgather_recursive_doubling(cx, all) : allgather_bruck(cx, all);
    default:
      return allgather_ring(cx, all);
  }
}

Task start_alltoall(const Cx& cx, Blocks send, Blocks recv, bool in_place) noexcept {
  const Alltoall chosen = alltoall_choice.of(facts_of(cx, recv[cx.rank].bytes(), cx.size));
  if (chosen == Alltoall::shared) return alltoall_shared(cx, send, recv, in_place);
  if (in_place) return alltoall_in_place(cx, recv);
  switch (chosen) {
    case Alltoall::direct:
      return alltoall_direct(cx, send, recv);
    case Alltoall::bruck:
      return alltoall_bruck(cx, send, recv);
    default:
      return alltoall_pairwise(cx, send, recv);
  }
}

Task start_reduce(const Cx& cx, Reduction r, int root) noexcept {
  switch (reduce_choice.of(facts_of(cx, r, 0))) {
    case Reduce::shared:
      return reduce_shared(cx, r, root);
    case Reduce::direct:
      return reduce_direct(cx, r, root);
    case Reduce::linear:
      return reduce_linear(cx, r, root);
    default:
      return reduce_binomial(cx, r, root);
  }
}

Task start_allreduce(const Cx& cx, Reduction r) noexcept {
  const Facts facts = facts_of(cx, r, cx.size);
  const Allreduce chosen = allreduce_choice.of(facts);
  switch (chosen) {
    case Allreduce::shared:
      return allreduce_shared(cx, r);
    case Allreduce::direct:
      return allreduce_direct(cx, r);
    case Allreduce::linear:
      return allreduce_linear(cx, r);
    case Allreduce::ring:
      if (facts.is_regular) return allreduce_ring(cx, r);
      break;
    case Allreduce::rabenseifner:
      if (facts.is_regular) return allreduce_rabenseifner(cx, r);
      break;
    default:
      break;
  }
  return allreduce_recursive_doubling(cx, r);
}

Task start_scan(const Cx& cx, Reduction r, bool is_exclusive) noexcept {
  if (scan_choice.of(facts_of(cx, r, 0)) == Scan::shared) return scan_shared(cx, r, is_exclusive);
  return is_exclusive ? exscan_recursive_doubling(cx, r) : scan_recursive_doubling(cx, r);
}

Task start_reduce_scatter(const Cx& cx, Reduction r, Blocks parts) noexcept {
  switch (reduce_scatter_choice.of(facts_of(cx, r, 0))) {
    case ReduceScatter::shared:
      return reduce_scatter_shared(cx, r, parts);
    case ReduceScatter::direct:
      return reduce_scatter_direct(cx, r, parts);
    case ReduceScatter::pairwise:
      if (r.op->is_commutative()) return reduce_scatter_pairwise(cx, r, parts);
      [[fallthrough]];
    default:
      return reduce_scatter_by_reduce(cx, r, parts);
  }
}

std::vector<Decision> decisions(const Facts& facts) {
  Facts several = facts;  // where a rank puts in a block for each rank
  several.blocks = facts.ranks;
  return {{"barrier", barrier_choice.word_of(facts)},
          {"bcast", bcast_choice.word_of(facts)},
          {"gather", gather_choice.word_of(facts)},
          {"scatter", scatter_choice.word_of(several)},
          {"allgather", allgather_choice.word_of(facts)},
          {"alltoall", alltoall_choice.word_of(several)},
          {"reduce", reduce_choice.word_of(facts)},
          {"allreduce", allreduce_choice.word_of(facts)},
          {"scan", scan_choice.word_of(facts)},
          {"reduce_scatter", reduce_scatter_choice.word_of(facts)}};
}

}  // namespace dunlin::coll
