// Inter-communicators: MPI_Intercomm_create and MPI_Intercomm_merge (MPI 5.0, 7.6.2).
//
// The two leaders exchange sizes, contexts and members, then each tells its group.
// Cost: two exchanges, one broadcast of a few bytes and one of 4 bytes per remote member.
#include "comm/intercomm.hpp"

#include <algorithm>

#include "comm/functions.hpp"
#include "comm/region.hpp"

namespace dunlin::comm {
namespace {

struct Offer {
  std::uint64_t context = 0;
  std::int32_t size = 0;     // of the sender's group
  std::int32_t is_high = 0;  // merging: whether it wants to come last
};
static_assert(sizeof(Offer) == 16, "travels between processes");

/// What leaders tell their groups.
struct Meeting {
  Contexts contexts;
  std::int32_t remote_size = 0;
  std::int32_t is_first = 0;  // merging: whether this group comes first
};
static_assert(sizeof(Meeting) == 24, "travels between processes");

template <class T>
coll::Block block_of(T* value) noexcept {
  return coll::Block::of_bytes(value, sizeof *value);
}

coll::Block block_of(std::span<const int> members) noexcept {
  return coll::Block::of_bytes(const_cast<int*>(members.data()), members.size_bytes());
}

coll::Task meet(coll::Cx local, coll::Cx leaders, Leaders who, const Group* group, Meeting* meeting,
                std::vector<int>* remote) {
  if (local.rank == who.local) {
    leaders.run = local.run;
    Offer mine{local.comm->process->next_contexts(kContextsPerInter), group->size()}, theirs;
    co_await leaders.sendrecv(block_of(&mine).source(), who.remote, block_of(&theirs).target(), who.remote);
    remote->resize(std::size_t(theirs.size));
    co_await leaders.sendrecv(block_of(group->span()).source(), who.remote, block_of(*remote).target(),
                              who.remote);
    *meeting = {agreed(mine.context, theirs.context), theirs.size};
  }
  co_await coll::bcast_binomial(local, block_of(meeting), who.local);
  remote->resize(std::size_t(meeting->remote_size));
  co_await coll::bcast_binomial(local, block_of(*remote), who.local);
  co_return Err::ok;
}

coll::Task agree_on_order(coll::Cx cx, int is_high, Meeting* meeting) {
  if (cx.rank == 0) {
    Offer mine{cx.comm->process->next_context(), cx.size, is_high}, theirs;
    co_await cx.sendrecv(block_of(&mine).source(), 0, block_of(&theirs).target(), 0);
    // Where both want the same place, the lower context comes first: any order will do, but it must be one.
    const bool is_first = mine.is_high != theirs.is_high ? !mine.is_high : mine.context < theirs.context;
    if (!is_first) cx.comm->process->give_back(mine.context);
    *meeting = {{is_first ? mine.context : theirs.context, 0}, theirs.size, is_first};
  }
  co_await coll::bcast_binomial(cx.local(), block_of(meeting), 0);
  co_return Err::ok;
}

bool are_disjoint(const Group& group, std::span<const int> members) noexcept {
  return std::none_of(members.begin(), members.end(), [&](int member) { return group.rank_of(member) >= 0; });
}

}  // namespace

Err connect(Comm& local, Comm* peers, Leaders who, int tag, Comm** newintercomm) noexcept {
  Meeting meeting;
  std::vector<int> remote;
  coll::Cx leaders;
  leaders.comm = peers;
  leaders.plane = Plane::named;
  leaders.tag = tag;
  const Err e = run_blocking(next_creation(local), [&](coll::Cx cx) {
    return meet(cx, leaders, who, local.group.get(), &meeting, &remote);
  });
  if (e != Err::ok) return e;
  if (!are_disjoint(*local.group, remote))
    return fail(Err::comm,
                "the two groups have members in common; an inter-communicator connects disjoint groups");

  Ref<Comm> made = make_unfinished(local);
  set_group(*made, local.group);
  set_remote_group(*made, Ref<Group>::adopt(new Group(std::move(remote), local.group->me())));
  set_contexts(*made, meeting.contexts);
  *newintercomm = made.detach();
  return Err::ok;
}

Err intercomm_create(Comm& local_comm, int local_leader, Comm* peer_comm, int remote_leader, int tag,
                     Comm** newintercomm) noexcept {
  if (local_comm.is_inter())
    return fail(Err::comm, "local_comm is an inter-communicator; give an intra-communicator");
  if (local_leader < 0 || local_leader >= local_comm.size)
    return fail(Err::rank, "local_leader is %d; local_comm has %d ranks", local_leader, local_comm.size);
  if (local_comm.rank == local_leader) {
    if (!peer_comm)
      return fail(Err::comm,
                  "peer_comm is no communicator; the leader must give one that both leaders are in");
    if (remote_leader < 0 || remote_leader >= peer_comm->target_size)
      return fail(Err::rank, "remote_leader is %d; peer_comm has %d ranks", remote_leader,
                  peer_comm->target_size);
    if (tag < 0) return fail(Err::tag, "tag is %d; give a number from 0 to MPI_TAG_UB", tag);
  }
  return connect(local_comm, peer_comm, {local_leader, remote_leader}, tag, newintercomm);
}

Err intercomm_merge(Comm& intercomm, int high, Comm** newintracomm) noexcept {
  if (!intercomm.is_inter())
    return fail(Err::comm, "intercomm is an intra-communicator; give an inter-communicator");
  Meeting meeting;
  const Err e = run_blocking(next_creation(intercomm),
                             [&](coll::Cx cx) { return agree_on_order(cx, high != 0, &meeting); });
  if (e != Err::ok) return e;

  const auto first = (meeting.is_first ? intercomm.group : intercomm.remote_group)->span();
  const auto second = (meeting.is_first ? intercomm.remote_group : intercomm.group)->span();
  std::vector<int> members(first.begin(), first.end());
  members.insert(members.end(), second.begin(), second.end());
  Ref<Comm> made = make_unfinished(intercomm);
  set_group(*made, Ref<Group>::adopt(new Group(std::move(members), *intercomm.group)));
  set_contexts(*made, meeting.contexts);
  if (const Err error = share_memory_of_domains(*made); error != Err::ok) return error;
  *newintracomm = made.detach();
  return Err::ok;
}

}  // namespace dunlin::comm
