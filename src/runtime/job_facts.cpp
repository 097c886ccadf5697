#include "runtime/job_facts.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/variable.hpp"

namespace dunlin::runtime {
namespace {

constexpr std::string_view kNodeKey = "node.facts";  // put by the first rank of each node
constexpr std::string_view kJobKey = "job.facts";    // put by rank 0: the same of all nodes, then the secret

WordVariable told_near_ranks{
    "NEAR_RANKS", "", "",
    "how many ranks of each node in a row share a memory node, and a last-level cache, such as 32,8, where "
    "that differs from how they are bound; 0 for none: collectives of many ranks of a node and Cartesian "
    "topologies follow it"};

/// Of the setting, if it is one.
bool try_parse(std::string_view text, os::NearRanks& near) {
  const char* const end = text.data() + text.size();
  const auto [comma, error] = std::from_chars(text.data(), end, near.memory);
  if (error != std::errc{} || comma == end || *comma != ',') return false;
  const auto [last, late_error] = std::from_chars(comma + 1, end, near.cache);
  return late_error == std::errc{} && last == end;
}

/// "1" or "0" where CPUs are shared, the match bits as a character, and the near ranks as they are.
std::string text_of(const JobFacts& facts) {
  std::string text{facts.shares_cores ? '1' : '0', char(facts.match_bits)};
  return text.append(reinterpret_cast<const char*>(&facts.near), sizeof facts.near);
}
constexpr std::size_t kTextBytes = 2 + sizeof(os::NearRanks);

JobFacts facts_of(const std::string& text) {
  DUNLIN_ASSERT(text.size() >= kTextBytes);
  JobFacts facts;
  facts.shares_cores = text[0] == '1';
  facts.match_bits = unsigned(text[1]);
  std::memcpy(&facts.near, &text[2], sizeof facts.near);
  return facts;
}

/// What holds for all nodes.
Result<JobFacts> combine(boot::Boot& boot, JobFacts facts) noexcept {
  for (const int rank : boot.node_map().first_ranks()) {
    const auto answer = boot.get(rank, kNodeKey);
    if (!answer) return answer.error();
    const JobFacts theirs = facts_of(answer.value());
    facts.shares_cores |= theirs.shares_cores;
    facts.match_bits = std::min(facts.match_bits, theirs.match_bits);
    if (theirs.near != facts.near) facts.near = {};
  }
  return facts;
}

/// Rank 0: what it has heard of all nodes, and a new secret.
Err decide(boot::Boot& boot, const JobFacts& mine) noexcept {
  const Result<JobFacts> facts = combine(boot, mine);
  if (!facts) return facts.error();
  std::string text = text_of(facts.value());
  const std::size_t bytes = mine.secret.size();
  text.resize(kTextBytes + bytes);
  if (::getrandom(text.data() + kTextBytes, bytes, 0) != ssize_t(bytes))
    return fail(Err::other, "cannot make the secret of this job: %s", std::strerror(errno));
  return boot.put(kJobKey, text);
}

}  // namespace

Result<JobFacts> agree_on_facts(boot::Boot& boot, bool shares_cores, unsigned match_bits,
                                os::NearRanks near) noexcept {
  const char* const told = told_near_ranks.get();
  if (*told && !try_parse(told, near))
    return fail(Err::other, "DUNLIN_NEAR_RANKS=%s is not two numbers of ranks, such as 32,8", told);
  const JobFacts mine{.shares_cores = shares_cores, .match_bits = match_bits, .near = near};
  if (boot.nodes() == 1) return mine;
  if (boot.node_rank() == 0)
    if (const Err error = boot.put(kNodeKey, text_of(mine)); error != Err::ok) return error;
  if (const Err error = boot.fence(); error != Err::ok) return error;
  if (boot.rank() == 0)
    if (const Err error = decide(boot, mine); error != Err::ok) return error;
  if (const Err error = boot.fence(); error != Err::ok) return error;
  const auto agreed = boot.get(0, kJobKey);
  if (!agreed) return agreed.error();
  JobFacts facts = facts_of(agreed.value());
  DUNLIN_ASSERT(agreed.value().size() == kTextBytes + facts.secret.size());
  std::memcpy(facts.secret.data(), agreed.value().data() + kTextBytes, facts.secret.size());
  return facts;
}

}  // namespace dunlin::runtime
