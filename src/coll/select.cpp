// The choice of algorithms; see select.hpp.  Every algorithm can be forced by a setting, where it can do the
// operation at hand.
#include "coll/select.hpp"

#include <algorithm>
#include <string>

#include "base/variable.hpp"
#include "progress/engine.hpp"

namespace dunlin::coll {
namespace {

// Between nodes: from the alpha-beta model of docs/decisions/0020.
IntVariable bcast_long{"COLL_BCAST_LONG", 256 << 10, "bytes",
                       "broadcasts by messages from this size on are scattered and gathered", 0};
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
IntVariable leader_bytes{
    "COLL_LEADER_BYTES", 16 << 10, "bytes",
    "smallest part of a message that a leader passes on to other domains where a domain has several leaders",
    1};
// Inside a node.  On 2 cores of an AMD EPYC (Zen 4): allreduce of 4 KiB on 2 ranks 1.0 us, from buffer to
// buffer .6 where they map and 1.0 where not; 8 ranks 22 us, through shared memory from and to all buffers
// 29, at 32 KiB 53 and 55.
constexpr std::size_t kRoomBytes = transport::shm::Commons::kRoomBytes;
IntVariable shared_bytes{
    "COLL_SHARED_BYTES",
    4 << 10,
    "bytes",
    "where ranks share memory: blocks up to this size are put there, longer ones go from "
    "buffer to buffer",
    0,
    kRoomBytes};
IntVariable shared_bytes_crowded{"COLL_SHARED_BYTES_CROWDED",        16 << 10, "bytes",
                                 "the same where ranks share cores", 0,        kRoomBytes};

bool is_short(const Facts& facts) noexcept {
  const std::int64_t bytes_max = (facts.share_cores ? shared_bytes_crowded : shared_bytes).get();
  return facts.bytes <= std::size_t(bytes_max) && facts.bytes * std::size_t(facts.blocks) <= kRoomBytes;
}
bool is_power_of_two(int n) noexcept { return (n & (n - 1)) == 0; }

/// What an algorithm asks of the facts.
enum class Needs : std::uint8_t { nothing, regular, domains, memory, room };

bool is_met(Needs needs, const Facts& facts) noexcept {
  switch (needs) {
    case Needs::regular:
      return facts.is_regular;
    case Needs::domains:
      return facts.has_domains;
    case Needs::memory:
      return facts.share_memory;
    case Needs::room:
      return facts.share_memory && facts.bytes * std::size_t(facts.blocks) <= kRoomBytes;
    default:
      return true;
  }
}

template <class... Arguments>
struct Algorithm {
  const char* word;  // of the setting
  Task (*start)(Cx, Arguments...);
  Needs needs = Needs::nothing;
};

/// The algorithms of one collective.  `rule` answers the index of the best.
template <class... Arguments>
class Choice {
 public:
  using Rule = int (*)(const Facts&) noexcept;
  Choice(const char* setting, const char* meaning, Rule rule,
         std::initializer_list<Algorithm<Arguments...>> algorithms)
      : algorithms_(algorithms),
        words_(words_of(algorithms_)),
        rule_(rule),
        variable_(setting, "auto", words_.c_str(), meaning) {}

  Task start(const Facts& facts, const Cx& cx, Arguments... arguments) noexcept {
    return best(facts).start(cx, arguments...);
  }
  const char* word(const Facts& facts) noexcept { return best(facts).word; }

 private:
  const Algorithm<Arguments...>& best(const Facts& facts) noexcept {
    if (variable_.get() != seen_) [[unlikely]] {  // the setting's word is looked up once, not at every call
      seen_ = variable_.get();
      forced_ = variable_.index() - 1;
    }
    const bool is_forced = forced_ >= 0 && is_met(algorithms_[std::size_t(forced_)].needs, facts);
    return algorithms_[std::size_t(is_forced ? forced_ : rule_(facts))];
  }
  static std::string words_of(const std::vector<Algorithm<Arguments...>>& algorithms) {
    std::string words = "auto";
    for (const auto& each : algorithms) words += std::string("|") + each.word;
    return words;
  }

  const std::vector<Algorithm<Arguments...>> algorithms_;
  const std::string words_;
  const Rule rule_;
  WordVariable variable_;
  const char* seen_ = nullptr;
  int forced_ = -1;
};

// Rules answer positions in the lists below them.

Choice<> barrier{"COLL_BARRIER",
                 "algorithm of MPI_Barrier",
                 [](const Facts& facts) noexcept {
                   return facts.share_memory ? 2 : facts.has_domains ? 1 : 0;
                 },
                 {{"dissemination", barrier_dissemination},
                  {"hierarchical", barrier_hierarchical, Needs::domains},
                  {"shared", barrier_shared, Needs::room}}};

int bcast_rule(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? 3 : 4;
  if (facts.has_domains) return 2;
  return facts.bytes >= std::size_t(bcast_long.get()) && facts.ranks > 2 ? 1 : 0;
}
Choice<Block, int> bcast{"COLL_BCAST",
                         "algorithm of MPI_Bcast",
                         bcast_rule,
                         {{"binomial", bcast_binomial},
                          {"scatter_allgather", bcast_scatter_allgather},
                          {"hierarchical", bcast_hierarchical, Needs::domains},
                          {"shared", bcast_shared, Needs::room},
                          {"direct", bcast_direct, Needs::memory}}};

int gather_rule(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? 2 : 3;
  return facts.bytes < std::size_t(gather_long.get()) && facts.ranks > 2 ? 0 : 1;
}
Choice<Block, Blocks, int, bool> gather{"COLL_GATHER",
                                        "algorithm of MPI_Gather",
                                        gather_rule,
                                        {{"binomial", gather_binomial},
                                         {"linear", gather_linear},
                                         {"shared", gather_shared, Needs::room},
                                         {"direct", gather_direct, Needs::memory}}};
Choice<Blocks, Block, int, bool> scatter{"COLL_SCATTER",
                                         "algorithm of MPI_Scatter",
                                         gather_rule,
                                         {{"binomial", scatter_binomial},
                                          {"linear", scatter_linear},
                                          {"shared", scatter_shared, Needs::room},
                                          {"direct", scatter_direct, Needs::memory}}};

int allgather_rule(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? 3 : 4;
  if (facts.has_domains) return 2;
  const bool is_long = facts.bytes * std::size_t(facts.ranks) >= std::size_t(allgather_long.get());
  return (is_long && facts.ranks > 2) || !facts.is_regular ? 1 : 0;
}
Choice<Block, Blocks> allgather{
    "COLL_ALLGATHER",
    "algorithm of MPI_Allgather and MPI_Allgatherv",
    allgather_rule,
    {{"bruck", [](Cx cx, Block, Blocks all) { return allgather_bruck(cx, all); }, Needs::regular},
     {"ring", [](Cx cx, Block, Blocks all) { return allgather_ring(cx, all); }},
     {"hierarchical", allgather_hierarchical, Needs::domains},
     {"shared", [](Cx cx, Block, Blocks all) { return allgather_shared(cx, all); }, Needs::room},
     {"direct", allgather_direct, Needs::memory}}};

int alltoall_rule(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? 2 : 3;
  return facts.bytes <= std::size_t(alltoall_short.get()) && facts.ranks >= 8 ? 0 : 1;
}
Choice<Blocks, Blocks> alltoall{
    "COLL_ALLTOALL",
    "algorithm of MPI_Alltoall",
    alltoall_rule,
    {{"bruck", alltoall_bruck},
     {"pairwise", alltoall_pairwise},
     {"shared", [](Cx cx, Blocks send, Blocks recv) { return alltoall_shared(cx, send, recv, false); },
      Needs::room},
     {"direct", alltoall_direct, Needs::memory}}};

Choice<Reduction, int> reduce{"COLL_REDUCE",
                              "algorithm of MPI_Reduce",
                              [](const Facts& facts) noexcept {
                                if (facts.share_memory) return is_short(facts) ? 2 : 3;
                                return facts.has_domains ? 1 : 0;
                              },
                              {{"binomial", reduce_binomial},
                               {"hierarchical", reduce_hierarchical, Needs::domains},
                               {"shared", reduce_shared, Needs::room},
                               {"direct", reduce_direct, Needs::memory}}};

int allreduce_rule(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? 4 : 5;
  if (facts.has_domains) return 3;
  if (!facts.is_regular || facts.bytes < std::size_t(allreduce_long.get())) return 0;
  const bool is_very_long = facts.bytes >= std::size_t(allreduce_ring_bytes.get());
  return is_very_long && !is_power_of_two(facts.ranks) ? 2 : 1;
}
Choice<Reduction> allreduce{"COLL_ALLREDUCE",
                            "algorithm of MPI_Allreduce",
                            allreduce_rule,
                            {{"recursive_doubling", allreduce_recursive_doubling},
                             {"rabenseifner", allreduce_rabenseifner, Needs::regular},
                             {"ring", allreduce_ring, Needs::regular},
                             {"hierarchical", allreduce_hierarchical, Needs::domains},
                             {"shared", allreduce_shared, Needs::room},
                             {"direct", allreduce_direct, Needs::memory}}};

Task scan_by_doubling(Cx cx, Reduction r, bool is_exclusive) {
  return is_exclusive ? exscan_recursive_doubling(cx, r) : scan_recursive_doubling(cx, r);
}
Choice<Reduction, bool> scan{"COLL_SCAN",
                             "algorithm of MPI_Scan and MPI_Exscan",
                             [](const Facts& facts) noexcept {
                               return !facts.share_memory ? 0 : is_short(facts) ? 1 : 2;
                             },
                             {{"recursive_doubling", scan_by_doubling},
                              {"shared", scan_shared, Needs::room},
                              {"direct", scan_direct, Needs::memory}}};

int reduce_scatter_rule(const Facts& facts) noexcept {
  if (facts.share_memory) return is_short(facts) ? 2 : 3;
  // Up to four ranks, exchanging parts takes no more steps than a reduce and a scatter.
  const std::int64_t pairwise_from = facts.ranks <= 4 ? 0 : reduce_scatter_long.get();
  return facts.is_regular && facts.bytes >= std::size_t(pairwise_from) ? 1 : 0;
}
Choice<Reduction, Blocks> reduce_scatter{"COLL_REDUCE_SCATTER",
                                         "algorithm of MPI_Reduce_scatter and MPI_Reduce_scatter_block",
                                         reduce_scatter_rule,
                                         {{"by_reduce", reduce_scatter_by_reduce},
                                          {"pairwise", reduce_scatter_pairwise, Needs::regular},
                                          {"shared", reduce_scatter_shared, Needs::room},
                                          {"direct", reduce_scatter_direct, Needs::memory}}};

Facts facts_of(const Cx& cx, std::size_t bytes, int blocks = 1) noexcept {
  Facts facts{cx.size, bytes, blocks};
  facts.share_memory = cx.share_memory();
  facts.has_domains = cx.hierarchy != nullptr;
  facts.share_cores = cx.run->engine.does_job_share_cores();
  return facts;
}

/// Of a reduction; it is regular when every rank may have a part of it.
Facts facts_of(const Cx& cx, const Reduction& r, std::int64_t count_min) noexcept {
  Facts facts = facts_of(cx, r.bytes());
  facts.is_regular = r.op->is_commutative() && r.count >= count_min;
  if (facts.has_domains) facts.has_domains = r.op->is_commutative() || cx.hierarchy->is_in_order();
  return facts;
}

}  // namespace

std::size_t shared_bytes_max(const Cx& cx) noexcept {
  const bool is_crowded = cx.run->engine.does_job_share_cores();
  return std::size_t((is_crowded ? shared_bytes_crowded : shared_bytes).get());
}
std::size_t leader_bytes_min() noexcept { return std::size_t(leader_bytes.get()); }

Task start_barrier(const Cx& cx) noexcept { return barrier.start(facts_of(cx, 0), cx); }

Task start_bcast(const Cx& cx, Block block, int root) noexcept {
  return bcast.start(facts_of(cx, block.bytes()), cx, block, root);
}

Task start_gather(const Cx& cx, Block mine, Blocks all, int root, bool in_place) noexcept {
  const std::size_t bytes = in_place ? all[root].bytes() : mine.bytes();
  return gather.start(facts_of(cx, bytes), cx, mine, all, root, in_place);
}

Task start_scatter(const Cx& cx, Blocks all, Block mine, int root, bool in_place) noexcept {
  const std::size_t bytes = in_place ? all[root].bytes() : mine.bytes();
  return scatter.start(facts_of(cx, bytes, cx.size), cx, all, mine, root, in_place);
}

Task start_allgather(const Cx& cx, Block mine, Blocks all) noexcept {
  std::size_t bytes_max = 0;
  for (int rank = 0; rank < (all.is_equal() ? 1 : cx.size); ++rank)
    bytes_max = std::max(bytes_max, all[rank].bytes());
  Facts facts = facts_of(cx, bytes_max);
  facts.is_regular = all.is_equal();
  return allgather.start(facts, cx, mine, all);
}

Task start_alltoall(const Cx& cx, Blocks send, Blocks recv, bool in_place) noexcept {
  const Facts facts = facts_of(cx, recv[cx.rank].bytes(), cx.size);
  if (!in_place) return alltoall.start(facts, cx, send, recv);
  const bool is_shared = is_met(Needs::room, facts) && is_short(facts);
  return is_shared ? alltoall_shared(cx, send, recv, true) : alltoall_in_place(cx, recv);
}

Task start_reduce(const Cx& cx, Reduction r, int root) noexcept {
  return reduce.start(facts_of(cx, r, 0), cx, r, root);
}

Task start_allreduce(const Cx& cx, Reduction r) noexcept {
  return allreduce.start(facts_of(cx, r, cx.size), cx, r);
}

Task start_scan(const Cx& cx, Reduction r, bool is_exclusive) noexcept {
  return scan.start(facts_of(cx, r, 0), cx, r, is_exclusive);
}

Task start_reduce_scatter(const Cx& cx, Reduction r, Blocks parts) noexcept {
  return reduce_scatter.start(facts_of(cx, r, 0), cx, r, parts);
}

// Lengths are known to their two ends only, so that whether ranks share memory must decide.
Task start_gatherv(const Cx& cx, Block mine, Blocks all, int root, bool in_place) noexcept {
  return (cx.share_memory() ? gather_varied : gather_linear)(cx, mine, all, root, in_place);
}
Task start_scatterv(const Cx& cx, Blocks all, Block mine, int root, bool in_place) noexcept {
  return (cx.share_memory() ? scatter_varied : scatter_linear)(cx, all, mine, root, in_place);
}
Task start_alltoallv(const Cx& cx, Blocks send, Blocks recv, bool in_place) noexcept {
  if (in_place) return alltoall_in_place(cx, recv);
  return (cx.share_memory() ? alltoall_varied : alltoall_pairwise)(cx, send, recv);
}

std::vector<Decision> decisions(const Facts& facts) {
  Facts several = facts;  // where a rank puts in a block for each rank
  several.blocks = facts.ranks;
  return {{"barrier", barrier.word(facts)},     {"bcast", bcast.word(facts)},
          {"gather", gather.word(facts)},       {"scatter", scatter.word(several)},
          {"allgather", allgather.word(facts)}, {"alltoall", alltoall.word(several)},
          {"reduce", reduce.word(facts)},       {"allreduce", allreduce.word(facts)},
          {"scan", scan.word(facts)},           {"reduce_scatter", reduce_scatter.word(facts)}};
}

}  // namespace dunlin::coll
