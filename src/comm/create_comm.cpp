// MPI_Comm_create and MPI_Comm_create_group: the members hear the context from their leader, all others go on
// at once. Cost: one broadcast of 8 bytes among the members.
#include "comm/create.hpp"
#include "comm/functions.hpp"
#include "comm/region.hpp"
#include "comm/split.hpp"

namespace dunlin::comm {
namespace {

/// Ranks in `comm` of the members of `group`.
Err translate(const Comm& comm, const Group& group, std::vector<int>* ranks) noexcept {
  for (int i = 0; i < group.size(); ++i) {
    ranks->push_back(comm.group->rank_of(group.member(i)));
    if (ranks->back() < 0)
      return fail(Err::group, "rank %d of group is not in the group of comm; use a subgroup of it", i);
  }
  return Err::ok;
}

Err create_among(Comm& comm, Group& group, const std::vector<int>& ranks, Plane plane, int tag,
                 Comm** newcomm) noexcept {
  std::uint64_t context = 0;
  const coll::Cx cx = creation_among(comm, ranks, group.rank(), plane, tag);
  const Err e = run_blocking(cx, [&](coll::Cx cx) { return share_context(cx, &context); });
  if (e != Err::ok) return e;
  Ref<Comm> made = make_unfinished(comm);
  set_group(*made, Ref<Group>(&group));
  set_contexts(*made, {context, 0});
  if (const Err e = share_memory_of_domains(*made); e != Err::ok) return e;
  *newcomm = made.detach();
  return Err::ok;
}

}  // namespace

Err comm_create(Comm& comm, Group& group, Comm** newcomm) noexcept {
  std::vector<int> ranks;
  if (Err e = translate(comm, group, &ranks); e != Err::ok) return e;
  const bool takes_part = group.rank() >= 0;
  // Both sides must hear of each other's members: a split with one colour tells them.
  if (comm.is_inter())
    return split(comm, takes_part ? 0 : MPI_UNDEFINED, takes_part ? group.rank() : 0, newcomm);
  const int number = next_creation(comm).tag;  // counted by all, also by those who do not take part
  if (!takes_part) return *newcomm = nullptr, Err::ok;
  return create_among(comm, group, ranks, Plane::internal, number, newcomm);
}

Err comm_create_group(Comm& comm, Group& group, int tag, Comm** newcomm) noexcept {
  if (comm.is_inter())
    return fail(Err::comm,
                "comm is an inter-communicator; MPI_Comm_create_group wants an intra-communicator");
  if (tag < 0) return fail(Err::tag, "tag is %d; give a number from 0 to MPI_TAG_UB", tag);
  std::vector<int> ranks;
  if (Err e = translate(comm, group, &ranks); e != Err::ok) return e;
  if (group.rank() < 0) return *newcomm = nullptr, Err::ok;
  return create_among(comm, group, ranks, Plane::named, tag, newcomm);
}

}  // namespace dunlin::comm
