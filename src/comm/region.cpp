#include "comm/region.hpp"

#include <algorithm>

#include "base/variable.hpp"
#include "coll/region.hpp"
#include "comm/create.hpp"
#include "protocol/messaging.hpp"

namespace dunlin::comm {
namespace {

// A member looks at the flags of all others: at 32 that takes as long as five rounds of messages.
IntVariable members_max{"COLL_SHARED_RANKS", 32, "ranks",
                        "up to so many ranks of a node do collectives in one piece of shared memory", 0,
                        1 << 20};

constexpr std::uint64_t kNamed = std::uint64_t{1} << 63;

int commons_of(std::uint64_t context) noexcept {
  return context & kNamed ? int(Process::kNoCommons) : int(context >> 2 & Process::kNoCommons);
}
int leader_of(std::uint64_t context) noexcept { return int(context >> 34 & ((1 << 22) - 1)); }

bool is_world(const Comm& made) noexcept { return made.context << 8 == 0; }

bool is_on_one_node(const Comm& made, const transport::shm::Transport& shm) noexcept {
  const auto is_here = [&shm](int peer) noexcept { return shm.is_on_node(peer); };
  const auto members = made.group->span();
  return is_here(leader_of(made.context)) && std::all_of(members.begin(), members.end(), is_here);
}

/// The domains of a communicator; null where they would be of no use: there is only one, or each has one
/// member.
std::shared_ptr<const coll::Hierarchy> hierarchy_of(const Comm& made) noexcept {
  if (made.is_inter() || made.size <= 2 || made.context & kNamed) return nullptr;
  const int domain_members_max = members_max.get() > 1 ? int(members_max.get()) : made.size;
  auto hierarchy = std::make_shared<const coll::Hierarchy>(places_of(made), domain_members_max);
  return hierarchy->domains() > 1 && hierarchy->domains() < made.size ? hierarchy : nullptr;
}

/// Processes of this process's domain.
std::vector<int> peers_of_domain(const Comm& made) noexcept {
  std::vector<int> peers;
  for (const int member : made.hierarchy->members(made.hierarchy->domain_of(made.rank)))
    peers.push_back(made.target_members[member]);
  return peers;
}

void open_region(Comm& made, std::span<const int> peers, int owner, int commons) noexcept {
  transport::shm::Transport& shm = *made.messaging->peers.shared_memory();
  std::vector<transport::shm::Channel*> channels;
  for (const int peer : peers) channels.push_back(shm.connect(peer));  // null for ourselves
  const auto me = std::find(peers.begin(), peers.end(), made.messaging->me()) - peers.begin();
  made.region = std::make_shared<coll::Region>(shm.commons(owner, commons), int(me), std::move(channels));
}

bool can_share(const Comm& made, std::size_t members) noexcept {
  return made.messaging->peers.shared_memory() && members > 1 &&
         members <= std::size_t(std::max<std::int64_t>(members_max.get(), 0));
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

std::vector<coll::MemberPlace> places_of(const Comm& comm) noexcept {
  const Process& process = *comm.process;
  const int each_memory = process.near_ranks.memory, each_cache = process.near_ranks.cache;
  std::vector<coll::MemberPlace> places;
  for (const int member : comm.group->span()) {
    coll::MemberPlace& place = places.emplace_back(coll::MemberPlace{process.node_map.node_of(member)});
    if (each_memory == 0 && each_cache == 0) continue;
    const int index = process.node_map.place_of(member);
    if (each_memory > 0) place.memory = index / each_memory;
    if (each_cache > 0) place.cache = index / each_cache;
  }
  return places;
}

void share_memory(Comm& made) noexcept {
  transport::shm::Transport* const shm = made.messaging->peers.shared_memory();
  const int commons = commons_of(made.context);
  made.hierarchy = hierarchy_of(made);
  if (made.hierarchy && is_world(made)) {
    const std::vector<int> peers = peers_of_domain(made);
    if (can_share(made, peers.size())) open_region(made, peers, peers[0], 0);
    return;
  }
  if (!shm || commons == int(Process::kNoCommons)) return;
  const bool is_usable = !made.hierarchy && !made.is_inter() && is_on_one_node(made, *shm);
  if (is_usable && can_share(made, std::size_t(made.size)))
    open_region(made, made.group->span(), leader_of(made.context), commons);
  else if (commons != 0 && leader_of(made.context) == made.messaging->me())
    shm->give_back_commons(commons);
}

coll::Task share_memory_of_domain(coll::Cx cx, Comm* made) {
  if (!made->hierarchy || made->region) co_return Err::ok;
  const std::vector<int> peers = peers_of_domain(*made);
  if (!can_share(*made, peers.size())) co_return Err::ok;
  coll::Cx inside = cx;
  inside.members = made->hierarchy->members(made->hierarchy->domain_of(made->rank)).data();
  inside.rank = made->hierarchy->place_of(made->rank);
  inside.size = int(peers.size());
  transport::shm::Transport& shm = *made->messaging->peers.shared_memory();
  int commons = inside.rank == 0 ? shm.try_take_commons() : -1;
  co_await coll::bcast_binomial(inside, coll::Block::of_bytes(&commons, sizeof commons), 0);
  if (commons >= 0) open_region(*made, peers, peers[0], commons);
  co_return Err::ok;
}

Err share_memory_of_domains(Comm& made) noexcept {
  if (!made.hierarchy) return Err::ok;
  return run_blocking(next_creation(made), [&](coll::Cx cx) { return share_memory_of_domain(cx, &made); });
}

}  // namespace dunlin::comm
