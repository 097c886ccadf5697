#include "runtime/job_facts.hpp"

#include "base/assert.hpp"

namespace dunlin::runtime {
namespace {

constexpr std::string_view kNodeKey = "node.shares_cores";  // put by the first rank of each node
constexpr std::string_view kJobKey = "job.shares_cores";    // put by rank 0
constexpr std::string_view kYes = "1", kNo = "0";

/// Rank 0 does not know who is the first of a node: the other ranks have put nothing.
bool is_any_yes(boot::Boot& boot) noexcept {
  for (int rank = 0; rank < boot.size(); ++rank)
    if (const auto answer = boot.get(rank, kNodeKey); answer && answer.value() == kYes) return true;
  return false;
}

}  // namespace

Result<bool> agree_on_shared_cores(boot::Boot& boot, bool here) noexcept {
  DUNLIN_ASSERT(boot.nodes() >= 1);
  if (boot.nodes() == 1) return here;
  if (boot.node_rank() == 0)
    if (const Err error = boot.put(kNodeKey, here ? kYes : kNo); error != Err::ok) return error;
  if (const Err error = boot.fence(); error != Err::ok) return error;
  if (boot.rank() == 0)
    if (const Err error = boot.put(kJobKey, is_any_yes(boot) ? kYes : kNo); error != Err::ok) return error;
  if (const Err error = boot.fence(); error != Err::ok) return error;
  const auto agreed = boot.get(0, kJobKey);
  if (!agreed) return agreed.error();
  DUNLIN_ASSERT(agreed.value() == kYes || agreed.value() == kNo);
  return agreed.value() == kYes;
}

}  // namespace dunlin::runtime
