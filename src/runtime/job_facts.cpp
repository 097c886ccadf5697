#include "runtime/job_facts.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "base/assert.hpp"

namespace dunlin::runtime {
namespace {

constexpr std::string_view kNodeKey = "node.shares_cores";  // put by the first rank of each node
constexpr std::string_view kJobKey = "job.facts";           // put by rank 0: "1" or "0", then the secret
constexpr char kYes = '1', kNo = '0';

Result<bool> is_any_yes(boot::Boot& boot) noexcept {
  for (const int rank : boot.node_map().first_ranks()) {
    const auto answer = boot.get(rank, kNodeKey);
    if (!answer) return answer.error();
    if (answer.value()[0] == kYes) return true;
  }
  return false;
}

/// Rank 0: what it has heard of all nodes, and a new secret.
Err decide(boot::Boot& boot) noexcept {
  const Result<bool> shares_cores = is_any_yes(boot);
  if (!shares_cores) return shares_cores.error();
  std::string facts(1 + JobFacts().secret.size(), shares_cores.value() ? kYes : kNo);
  const std::size_t bytes = facts.size() - 1;
  if (::getrandom(facts.data() + 1, bytes, 0) != ssize_t(bytes))
    return fail(Err::other, "cannot make the secret of this job: %s", std::strerror(errno));
  return boot.put(kJobKey, facts);
}

}  // namespace

Result<JobFacts> agree_on_facts(boot::Boot& boot, bool shares_cores) noexcept {
  JobFacts facts{.shares_cores = shares_cores};
  if (boot.nodes() == 1) return facts;
  if (boot.node_rank() == 0)
    if (const Err error = boot.put(kNodeKey, shares_cores ? "1" : "0"); error != Err::ok) return error;
  if (const Err error = boot.fence(); error != Err::ok) return error;
  if (boot.rank() == 0)
    if (const Err error = decide(boot); error != Err::ok) return error;
  if (const Err error = boot.fence(); error != Err::ok) return error;
  const auto agreed = boot.get(0, kJobKey);
  if (!agreed) return agreed.error();
  DUNLIN_ASSERT(agreed.value().size() == 1 + facts.secret.size());
  facts.shares_cores = agreed.value()[0] == kYes;
  std::memcpy(facts.secret.data(), agreed.value().data() + 1, facts.secret.size());
  return facts;
}

}  // namespace dunlin::runtime
