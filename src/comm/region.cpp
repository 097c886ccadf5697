#include "comm/region.hpp"

#include <algorithm>

#include "base/variable.hpp"
#include "coll/region.hpp"
#include "protocol/messaging.hpp"

namespace dunlin::comm {
namespace {

// A member looks at the flags of all others: at 32 that takes as long as five rounds of messages.
IntVariable members_max{"COLL_SHARED_RANKS", 32, "ranks",
                        "communicators of one node up to this size do short collectives in shared memory", 0};

constexpr std::uint64_t kNamed = std::uint64_t{1} << 63;

int commons_of(std::uint64_t context) noexcept {
  return context & kNamed ? int(Process::kNoCommons) : int(context >> 2 & Process::kNoCommons);
}
int leader_of(std::uint64_t context) noexcept { return int(context >> 34 & ((1 << 22) - 1)); }

/// Whether it is of use: all members and the leader of the communicator are on this node.
bool is_usable(const Comm& made, const transport::shm::Transport& shm) noexcept {
  if (made.is_inter() || made.size < 2 || made.size > members_max.get()) return false;
  const auto is_here = [&shm](int peer) noexcept { return shm.is_on_node(peer); };
  const auto members = made.group->span();
  return is_here(leader_of(made.context)) && std::all_of(members.begin(), members.end(), is_here);
}

}  // namespace

std::uint64_t Process::next_context() noexcept {
  transport::shm::Transport* const shm = messaging->peers.shared_memory();
  const int commons = shm ? shm->try_take_commons() : -1;
  return context(take_number(1), commons < 0 ? kNoCommons : std::uint64_t(commons));
}

void Process::give_back(std::uint64_t context) noexcept {
  const int commons = commons_of(context);
  if (commons == int(kNoCommons)) return;
  DUNLIN_ASSERT(leader_of(context) == me);
  messaging->peers.shared_memory()->give_back_commons(commons);
}

void share_memory(Comm& made) noexcept {
  transport::shm::Transport* const shm = made.messaging->peers.shared_memory();
  const int commons = commons_of(made.context);
  if (!shm || commons == int(Process::kNoCommons)) return;
  if (!is_usable(made, *shm)) {
    if (commons != 0 && leader_of(made.context) == made.messaging->me()) shm->give_back_commons(commons);
    return;
  }
  std::vector<transport::shm::Channel*> channels;
  for (const int peer : made.group->span()) channels.push_back(shm->connect(peer));  // null for ourselves
  made.region = std::make_shared<coll::Region>(shm->commons(leader_of(made.context), commons), made.rank,
                                               std::move(channels));
}

}  // namespace dunlin::comm
