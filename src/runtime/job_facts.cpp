#include "runtime/job_facts.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/assert.hpp"

namespace dunlin::runtime {
namespace {

constexpr std::string_view kNodeKey = "node.facts";  // put by the first rank of each node
constexpr std::string_view kJobKey = "job.facts";    // put by rank 0: the same of all nodes, then the secret

/// "1" or "0" where CPUs are shared, and the match bits as a character.
std::string text_of(const JobFacts& facts) {
  return {facts.shares_cores ? '1' : '0', char(facts.match_bits)};
}
constexpr std::size_t kTextBytes = 2;

JobFacts facts_of(const std::string& text) {
  DUNLIN_ASSERT(text.size() >= kTextBytes);
  return {.shares_cores = text[0] == '1', .match_bits = unsigned(text[1])};
}

/// What holds for all nodes.
Result<JobFacts> combine(boot::Boot& boot, JobFacts facts) noexcept {
  for (const int rank : boot.node_map().first_ranks()) {
    const auto answer = boot.get(rank, kNodeKey);
    if (!answer) return answer.error();
    const JobFacts theirs = facts_of(answer.value());
    facts.shares_cores |= theirs.shares_cores;
    facts.match_bits = std::min(facts.match_bits, theirs.match_bits);
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

Result<JobFacts> agree_on_facts(boot::Boot& boot, bool shares_cores, unsigned match_bits) noexcept {
  const JobFacts mine{.shares_cores = shares_cores, .match_bits = match_bits};
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
