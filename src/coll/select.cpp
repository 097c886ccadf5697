// The algorithms of each collective, and the facts that its choice among them (choice.hpp) depends on.  See
// select.hpp.
#include "coll/select.hpp"

#include <algorithm>

#include "coll/choice.hpp"
#include "progress/engine.hpp"

namespace dunlin::coll {
namespace {

namespace choices {

Choice<> barrier{"COLL_BARRIER",
                 "algorithm of MPI_Barrier",
                 by_domains_rule,
                 {{"dissemination", barrier_dissemination},
                  {"hierarchical", barrier_hierarchical, Needs::domains},
                  {"shared", barrier_shared, Needs::room}}};

Choice<Block, int> bcast{"COLL_BCAST",
                         "algorithm of MPI_Bcast",
                         bcast_rule,
                         {{"binomial", bcast_binomial},
                          {"scatter_allgather", bcast_scatter_allgather},
                          {"hierarchical", bcast_hierarchical, Needs::domains},
                          {"shared", bcast_shared, Needs::room},
                          {"direct", bcast_direct, Needs::memory}},
                         kShortBcast};

Choice<Block, Blocks, int, bool> gather{"COLL_GATHER",
                                        "algorithm of MPI_Gather",
                                        gather_rule,
                                        {{"binomial", gather_binomial},
                                         {"linear",
                                          [](Cx cx, Block mine, Blocks all, int root, bool in_place) {
                                            return gather_linear(cx, mine, all, root, in_place, false);
                                          }},
                                         {"hierarchical", gather_hierarchical, Needs::domains},
                                         {"shared",
                                          [](Cx cx, Block mine, Blocks all, int root, bool in_place) {
                                            return gather_shared(cx, mine, all, root, in_place, SIZE_MAX);
                                          },
                                          Needs::room},
                                         {"direct", gather_direct, Needs::memory}}};
Choice<Blocks, Block, int, bool> scatter{"COLL_SCATTER",
                                         "algorithm of MPI_Scatter",
                                         gather_rule,
                                         {{"binomial", scatter_binomial},
                                          {"linear",
                                           [](Cx cx, Blocks all, Block mine, int root, bool in_place) {
                                             return scatter_linear(cx, all, mine, root, in_place, false);
                                           }},
                                          {"hierarchical", scatter_hierarchical, Needs::domains},
                                          {"shared", scatter_shared, Needs::room},
                                          {"direct", scatter_direct, Needs::memory}}};

Choice<Block, Blocks> allgather{
    "COLL_ALLGATHER",
    "algorithm of MPI_Allgather and MPI_Allgatherv",
    allgather_rule,
    {{"bruck", [](Cx cx, Block, Blocks all) { return allgather_bruck(cx, all); }, Needs::regular},
     {"ring", [](Cx cx, Block, Blocks all) { return allgather_ring(cx, all); }},
     {"hierarchical", allgather_hierarchical, Needs::domains},
     {"shared", [](Cx cx, Block, Blocks all) { return allgather_shared(cx, all); }, Needs::room},
     {"direct", allgather_direct, Needs::memory}}};

Choice<Blocks, Blocks> alltoall{
    "COLL_ALLTOALL",
    "algorithm of MPI_Alltoall",
    alltoall_rule,
    {{"bruck", alltoall_bruck},
     {"pairwise", alltoall_pairwise},
     {"hierarchical", alltoall_hierarchical, Needs::domains},
     {"shared", [](Cx cx, Blocks send, Blocks recv) { return alltoall_shared(cx, send, recv, false); },
      Needs::room},
     {"direct", alltoall_direct, Needs::memory}}};

Choice<Reduction, int> reduce{"COLL_REDUCE",
                              "algorithm of MPI_Reduce",
                              by_domains_rule,
                              {{"binomial", reduce_binomial},
                               {"hierarchical", reduce_hierarchical, Needs::domains},
                               {"shared", reduce_shared, Needs::room},
                               {"direct", reduce_direct, Needs::memory}}};

Choice<Reduction> allreduce{"COLL_ALLREDUCE",
                            "algorithm of MPI_Allreduce",
                            allreduce_rule,
                            {{"recursive_doubling", allreduce_recursive_doubling},
                             {"rabenseifner", allreduce_rabenseifner, Needs::regular},
                             {"ring", allreduce_ring, Needs::regular},
                             {"hierarchical", allreduce_hierarchical, Needs::domains},
                             {"shared", allreduce_shared, Needs::room},
                             {"direct", allreduce_direct, Needs::memory}},
                            kShortCombined};

Task scan_by_doubling(Cx cx, Reduction r, bool is_exclusive) {
  return is_exclusive ? exscan_recursive_doubling(cx, r) : scan_recursive_doubling(cx, r);
}
Choice<Reduction, bool> scan{"COLL_SCAN",
                             "algorithm of MPI_Scan and MPI_Exscan",
                             by_domains_rule,
                             {{"recursive_doubling", scan_by_doubling},
                              {"hierarchical", scan_hierarchical, Needs::domains},
                              {"shared", scan_shared, Needs::room},
                              {"direct", scan_direct, Needs::memory}},
                             kShortCombined};

Choice<Reduction, Blocks> reduce_scatter{"COLL_REDUCE_SCATTER",
                                         "algorithm of MPI_Reduce_scatter and MPI_Reduce_scatter_block",
                                         reduce_scatter_rule,
                                         {{"by_reduce", reduce_scatter_by_reduce},
                                          {"pairwise", reduce_scatter_pairwise, Needs::regular},
                                          {"hierarchical", reduce_scatter_hierarchical, Needs::domains},
                                          {"shared", reduce_scatter_shared, Needs::room},
                                          {"direct", reduce_scatter_direct, Needs::memory}},
                                         kShortCombined};

}  // namespace choices

Facts facts_of(const Cx& cx, std::size_t bytes, int blocks = 1) noexcept {
  Facts facts{cx.size, bytes, blocks};
  facts.share_memory = cx.share_memory();
  facts.share_cpus = cx.run->engine.does_job_share_cores();
  facts.has_domains = cx.hierarchy != nullptr;
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

Task start_barrier(const Cx& cx) noexcept { return choices::barrier.start(facts_of(cx, 0), cx); }

Task start_bcast(const Cx& cx, Block block, int root) noexcept {
  return choices::bcast.start(facts_of(cx, block.bytes()), cx, block, root);
}

Task start_gather(const Cx& cx, Block mine, Blocks all, int root, bool in_place) noexcept {
  const std::size_t bytes = in_place ? all[root].bytes() : mine.bytes();
  return choices::gather.start(facts_of(cx, bytes), cx, mine, all, root, in_place);
}

Task start_scatter(const Cx& cx, Blocks all, Block mine, int root, bool in_place) noexcept {
  const std::size_t bytes = in_place ? all[root].bytes() : mine.bytes();
  return choices::scatter.start(facts_of(cx, bytes, cx.size), cx, all, mine, root, in_place);
}

Task start_allgather(const Cx& cx, Block mine, Blocks all) noexcept {
  std::size_t bytes_max = 0;
  for (int rank = 0; rank < (all.is_equal() ? 1 : cx.size); ++rank)
    bytes_max = std::max(bytes_max, all[rank].bytes());
  Facts facts = facts_of(cx, bytes_max);
  facts.is_regular = all.is_equal();
  return choices::allgather.start(facts, cx, mine, all);
}

Task start_alltoall(const Cx& cx, Blocks send, Blocks recv, bool in_place) noexcept {
  Facts facts = facts_of(cx, recv[cx.rank].bytes(), cx.size);
  facts.has_domains = facts.has_domains && cx.hierarchy->is_grid();
  if (!in_place) return choices::alltoall.start(facts, cx, send, recv);
  return is_short(facts, kShort) ? alltoall_shared(cx, send, recv, true) : alltoall_in_place(cx, recv);
}

Task start_reduce(const Cx& cx, Reduction r, int root) noexcept {
  return choices::reduce.start(facts_of(cx, r, 0), cx, r, root);
}

Task start_allreduce(const Cx& cx, Reduction r) noexcept {
  Facts facts = facts_of(cx, r, cx.size);
  facts.is_divided = cx.size > 2;
  return choices::allreduce.start(facts, cx, r);
}

Task start_scan(const Cx& cx, Reduction r, bool is_exclusive) noexcept {
  Facts facts = facts_of(cx, r, 0);
  facts.has_domains = facts.has_domains && cx.hierarchy->is_in_order();
  return choices::scan.start(facts, cx, r, is_exclusive);
}

Task start_reduce_scatter(const Cx& cx, Reduction r, Blocks parts) noexcept {
  Facts facts = facts_of(cx, r, 0);
  facts.has_domains = facts.has_domains && cx.hierarchy->is_grid();
  return choices::reduce_scatter.start(facts, cx, r, parts);
}

// Lengths are known to their two ends only, so that whether ranks share memory must decide.
Task start_gatherv(const Cx& cx, Block mine, Blocks all, int root, bool in_place) noexcept {
  if (!cx.share_memory()) return gather_linear(cx, mine, all, root, in_place, true);
  return gather_shared(cx, mine, all, root, in_place, shared_bytes_max());
}
Task start_scatterv(const Cx& cx, Blocks all, Block mine, int root, bool in_place) noexcept {
  if (!cx.share_memory()) return scatter_linear(cx, all, mine, root, in_place, true);
  return scatter_varied(cx, all, mine, root, in_place);
}
Task start_alltoallv(const Cx& cx, Blocks send, Blocks recv, bool in_place) noexcept {
  if (in_place) return alltoall_in_place(cx, recv);
  return (cx.share_memory() ? alltoall_varied : alltoall_pairwise)(cx, send, recv);
}

std::vector<Decision> decisions(const Facts& asked, const Hierarchy* domains) {
  Facts facts = asked;
  facts.has_domains = domains != nullptr;
  Facts none = facts;
  none.bytes = 0;
  Facts several = facts;  // where a rank puts in a block for each rank
  several.blocks = facts.ranks;
  Facts exchanged = several;
  exchanged.has_domains = domains && domains->is_grid();
  Facts divided = facts;
  divided.is_divided = facts.ranks > 2;
  Facts in_order = facts;
  in_order.has_domains = domains && domains->is_in_order();
  Facts whole = facts;  // of a reduce-scatter all blocks are one operand
  whole.bytes *= std::size_t(facts.ranks);
  whole.has_domains = exchanged.has_domains;
  const char* const no_grid = domains && !domains->is_grid() ? "domains of different sizes; " : "";
  const char* const no_order =
      domains && !domains->is_in_order() ? "ranks not in the order of domains; " : "";
  return {choices::barrier.decide("barrier", none),
          choices::bcast.decide("bcast", facts),
          choices::gather.decide("gather", facts),
          choices::scatter.decide("scatter", several),
          choices::allgather.decide("allgather", facts),
          choices::alltoall.decide("alltoall", exchanged, no_grid),
          choices::reduce.decide("reduce", facts),
          choices::allreduce.decide("allreduce", divided),
          choices::scan.decide("scan", in_order, no_order),
          choices::reduce_scatter.decide("reduce_scatter", whole, no_grid)};
}

}  // namespace dunlin::coll
