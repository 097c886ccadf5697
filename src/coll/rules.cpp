// All rules by which algorithms are chosen, and the sizes at which they change their answer; see rules.hpp.
#include "coll/rules.hpp"

namespace dunlin::coll {
namespace {

// Between nodes: from the model of docs/decisions/0030, which bench/cost_model holds them against.
IntVariable bcast_long{"COLL_BCAST_LONG", 256 << 10, "bytes",
                       "broadcasts by messages: from this size on each rank gets a part first, and then the "
                       "others' parts from them",
                       0};
constexpr std::size_t kBcastPartBytesMin = 2 << 10;  // below, the many parts cost more than they save
IntVariable gather_long{"COLL_GATHER_LONG", 1 << 10, "bytes",
                        "gather and scatter blocks from this size on go straight between rank and root", 0};
constexpr int kFewSenders = 8;  // a root handles so many messages in the time of the rounds of a tree
IntVariable allgather_long{"COLL_ALLGATHER_LONG", 16 << 10, "bytes",
                           "allgather blocks from this size on go round a ring", 0};
IntVariable alltoall_short{"COLL_ALLTOALL_SHORT", 256, "bytes",
                           "alltoall blocks up to this size travel together", 0};
IntVariable alltoall_long{
    "COLL_ALLTOALL_LONG", 4 << 10, "bytes",
    "over several nodes: alltoall blocks from this size on go straight from rank to rank", 0};
constexpr int kRingRanks = 3;  // a ring of so few takes no more rounds than another way, and moves less
constexpr int kAlltoallRanksMin = 32;  // that gain by travelling together: fewer handle all messages sooner
IntVariable allreduce_long{"COLL_ALLREDUCE_LONG", 16 << 10, "bytes",
                           "allreduces from this size on are divided among the ranks", 0};
IntVariable allreduce_ring_bytes{
    "COLL_ALLREDUCE_RING", 16 << 10, "bytes",
    "allreduces go round a ring when the ranks are no power of two and each rank's part has this size", 0};
IntVariable reduce_scatter_long{"COLL_REDUCE_SCATTER_LONG", 1 << 10, "bytes",
                                "reduce-scatters exchange parts from this size on in pairs", 0};
IntVariable leader_bytes{
    "COLL_LEADER_BYTES", 16 << 10, "bytes",
    "smallest part of a message that a leader passes on to other domains where a domain has several leaders",
    1};

/// Of what is divided among the ranks.
std::size_t part_bytes(const Facts& facts) noexcept { return facts.bytes / std::size_t(facts.ranks); }

}  // namespace

// Inside a node.  A block in shared memory is copied twice, but its owner goes on at once, and with readers
// that take its lines over it is fast to write: figures in rules.hpp.
IntVariable shared_bytes{
    "COLL_SHARED_BYTES",
    16 << 10,
    "bytes",
    "where ranks share memory: operands up to this size, and blocks up to twice of it, are put there, "
    "longer ones go from buffer to buffer",
    0,
    transport::shm::Commons::kRoomBytes};

IntVariable whole_bytes{"COLL_WHOLE_BYTES", 0, "bytes",
                        "in shared memory: up to this size each rank combines an allreduce as a whole, "
                        "longer ones are divided among the ranks; 0: 2048, where ranks share CPUs any",
                        0};

std::size_t leader_bytes_min() noexcept { return std::size_t(leader_bytes.get()); }

// As a whole, by slices and straight from the buffers, us, fresh data, ranks with CPUs of their own (16 of
// an Intel Emerald Rapids); 8 ranks: 1 KiB 2.2, 2.5 and 5.4, 2 KiB 3.4, 3.1 and 5.8, 8 KiB 11.3, 6.1 and
// 9.3, 32 KiB -, 14.6 and 21.4; 16 ranks: 1 KiB 4.5, 4.8 and 11.2, 2 KiB 7.2, 4.9 and 12.4, 8 KiB 20.9, 11.6
// and 16.2, 32 KiB -, 17.7 and 31.6.  8 ranks on 2 CPUs (AMD Zen 3), where the second wait is another switch
// of all: 2 KiB 28 and 39, 16 KiB 59 and 59.
std::size_t whole_bytes_max(bool share_cpus) noexcept {
  constexpr std::size_t kWhole = 2 << 10;
  const auto set = std::size_t(whole_bytes.get());
  return set > 0 ? set : share_cpus ? SIZE_MAX : kWhole;
}

int by_domains_rule(const Facts& facts) noexcept { return facts.has_domains ? kByDomains : 0; }

int bcast_rule(const Facts& facts) noexcept {
  if (facts.has_domains) return kByDomains;
  const bool is_long =
      facts.bytes >= std::size_t(bcast_long.get()) && part_bytes(facts) >= kBcastPartBytesMin;
  return is_long && facts.ranks > 2 ? 1 : 0;
}

int gather_rule(const Facts& facts) noexcept {
  // Collecting whole domains first saves the root messages up to twice that size.
  if (facts.has_domains && facts.bytes < 2 * std::size_t(gather_long.get())) return kByDomains;
  return facts.bytes >= std::size_t(gather_long.get()) || facts.ranks <= kFewSenders ? 1 : 0;
}

int allgather_rule(const Facts& facts) noexcept {
  if (facts.has_domains) return kByDomains;
  const bool is_long = facts.bytes >= std::size_t(allgather_long.get()) || facts.ranks <= kRingRanks;
  return is_long || !facts.is_regular ? 1 : 0;
}

int alltoall_rule(const Facts& facts) noexcept {
  if (facts.has_domains && facts.bytes < std::size_t(alltoall_long.get())) return kByDomains;
  return facts.bytes <= std::size_t(alltoall_short.get()) && facts.ranks >= kAlltoallRanksMin ? 0 : 1;
}

int allreduce_rule(const Facts& facts) noexcept {
  if (facts.has_domains) return kByDomains;
  if (!facts.is_regular || facts.bytes < std::size_t(allreduce_long.get())) return 0;
  if ((facts.ranks & (facts.ranks - 1)) == 0) return 1;
  return facts.ranks <= kRingRanks || part_bytes(facts) >= std::size_t(allreduce_ring_bytes.get()) ? 2 : 1;
}

int reduce_scatter_rule(const Facts& facts) noexcept {
  if (facts.has_domains) return kByDomains;
  // Up to four ranks, exchanging parts takes no more steps than a reduce and a scatter.
  const std::int64_t pairwise_from = facts.ranks <= 4 ? 0 : reduce_scatter_long.get();
  return facts.is_regular && part_bytes(facts) >= std::size_t(pairwise_from) ? 1 : 0;
}

}  // namespace dunlin::coll
