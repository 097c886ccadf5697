// All rules by which algorithms are chosen, and the sizes at which they change their answer; see rules.hpp.
#include "coll/rules.hpp"

#include "base/assert.hpp"

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

constexpr Answer kSeveralDomains{kByDomains, "several domains"};

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

const char* why_short(const Facts& facts, int multiple) noexcept {
  if (facts.bytes == 0) return "nothing to move";
  const int times = short_times(facts, multiple);
  if (!has_short_bytes(facts, multiple))
    return times == 1   ? "longer than DUNLIN_COLL_SHARED_BYTES"
           : times == 2 ? "longer than 2 x DUNLIN_COLL_SHARED_BYTES"
                        : "longer than 4 x DUNLIN_COLL_SHARED_BYTES";
  if (!has_room(facts)) return "too many blocks to put there";
  return times == 1   ? "up to DUNLIN_COLL_SHARED_BYTES"
         : times == 2 ? "up to 2 x DUNLIN_COLL_SHARED_BYTES"
                      : "up to 4 x DUNLIN_COLL_SHARED_BYTES";
}

Answer by_domains_rule(const Facts& facts) noexcept {
  if (facts.has_domains) return kSeveralDomains;
  return {0, "its only algorithm by messages"};
}

Answer bcast_rule(const Facts& facts) noexcept {
  if (facts.has_domains) return kSeveralDomains;
  if (facts.bytes < std::size_t(bcast_long.get())) return {0, "shorter than DUNLIN_COLL_BCAST_LONG"};
  if (facts.ranks <= 2) return {0, "two ranks only"};
  if (part_bytes(facts) < kBcastPartBytesMin) return {0, "a part for each rank would be too short"};
  return {1, "from DUNLIN_COLL_BCAST_LONG on"};
}

Answer gather_rule(const Facts& facts) noexcept {
  const auto border = std::size_t(gather_long.get());
  // Collecting whole domains first saves the root messages up to twice that size.
  if (facts.has_domains && facts.bytes < 2 * border)
    return {kByDomains, "several domains, and shorter than 2 x DUNLIN_COLL_GATHER_LONG"};
  if (facts.bytes >= border)
    return {1, facts.has_domains ? "from 2 x DUNLIN_COLL_GATHER_LONG on" : "from DUNLIN_COLL_GATHER_LONG on"};
  if (facts.ranks <= kFewSenders) return {1, "few ranks"};
  return {0, "many ranks, and shorter than DUNLIN_COLL_GATHER_LONG"};
}

Answer allgather_rule(const Facts& facts) noexcept {
  if (facts.has_domains) return kSeveralDomains;
  if (!facts.is_regular) return {1, "blocks of different lengths"};
  if (facts.ranks <= kRingRanks) return {1, "few ranks"};
  if (facts.bytes >= std::size_t(allgather_long.get())) return {1, "from DUNLIN_COLL_ALLGATHER_LONG on"};
  return {0, "shorter than DUNLIN_COLL_ALLGATHER_LONG"};
}

Answer alltoall_rule(const Facts& facts) noexcept {
  if (facts.has_domains && facts.bytes < std::size_t(alltoall_long.get()))
    return {kByDomains, "several domains, and shorter than DUNLIN_COLL_ALLTOALL_LONG"};
  if (facts.bytes > std::size_t(alltoall_short.get()))
    return {1, "longer than DUNLIN_COLL_ALLTOALL_SHORT"};
  if (facts.ranks < kAlltoallRanksMin) return {1, "few ranks"};
  return {0, "many ranks, and up to DUNLIN_COLL_ALLTOALL_SHORT"};
}

Answer allreduce_rule(const Facts& facts) noexcept {
  if (facts.has_domains) return kSeveralDomains;
  if (!facts.is_regular) return {0, "an order to keep, or fewer elements than ranks"};
  if (facts.bytes < std::size_t(allreduce_long.get()))
    return {0, "shorter than DUNLIN_COLL_ALLREDUCE_LONG"};
  if ((facts.ranks & (facts.ranks - 1)) == 0)
    return {1, "a power of two of ranks, and from DUNLIN_COLL_ALLREDUCE_LONG on"};
  if (facts.ranks <= kRingRanks) return {2, "few ranks, and from DUNLIN_COLL_ALLREDUCE_LONG on"};
  if (part_bytes(facts) >= std::size_t(allreduce_ring_bytes.get()))
    return {2, "no power of two of ranks, and their parts are from DUNLIN_COLL_ALLREDUCE_RING on"};
  return {1, "each rank's part is shorter than DUNLIN_COLL_ALLREDUCE_RING"};
}

Answer reduce_scatter_rule(const Facts& facts) noexcept {
  if (facts.has_domains) return kSeveralDomains;
  if (!facts.is_regular) return {0, "an order to keep"};
  // Up to four ranks, exchanging parts takes no more steps than a reduce and a scatter.
  if (facts.ranks <= 4) return {1, "few ranks"};
  if (part_bytes(facts) >= std::size_t(reduce_scatter_long.get()))
    return {1, "each rank's part is from DUNLIN_COLL_REDUCE_SCATTER_LONG on"};
  return {0, "each rank's part is shorter than DUNLIN_COLL_REDUCE_SCATTER_LONG"};
}

// At most one setting is named, by a word that begins with DUNLIN_, perhaps after "2 x ".
std::string spelled(const Answer& answer) {
  std::string text = answer.why;
  const std::string prefix = "DUNLIN_", times = " x ";
  const std::size_t at = text.find(prefix);
  if (at == std::string::npos) return text;
  const std::size_t end = std::min(text.find(' ', at), text.size()), name = at + prefix.size();
  const Variable* const setting = Variable::find(text.substr(name, end - name).c_str());
  DUNLIN_ASSERT(setting);
  DUNLIN_ASSERT(setting->is_number());
  const bool is_multiple = at > times.size() && text.compare(at - times.size(), times.size(), times) == 0;
  const int factor = is_multiple ? text[at - times.size() - 1] - '0' : 1;
  return text.insert(end, " = " + std::to_string(factor * static_cast<const IntVariable*>(setting)->get()));
}

}  // namespace dunlin::coll
