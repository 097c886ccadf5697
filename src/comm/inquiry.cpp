#include <algorithm>

#include "comm/functions.hpp"

namespace dunlin::comm {
namespace {

Err check_inter(const Comm& comm) noexcept {
  if (!comm.is_inter()) return fail(Err::comm, "comm is an intra-communicator, which has no remote group");
  return Err::ok;
}

}  // namespace

Err comm_size(const Comm& comm, int* size) noexcept {
  *size = comm.size;
  return Err::ok;
}

Err comm_rank(const Comm& comm, int* rank) noexcept {
  *rank = comm.rank;
  return Err::ok;
}

Err comm_compare(const Comm& comm1, const Comm& comm2, int* result) noexcept {
  if (&comm1 == &comm2) {
    *result = MPI_IDENT;
    return Err::ok;
  }
  if (comm1.is_inter() != comm2.is_inter()) {
    *result = MPI_UNEQUAL;
    return Err::ok;
  }
  int local = MPI_IDENT, remote = MPI_IDENT;
  if (Err e = group_compare(*comm1.group, *comm2.group, &local); e != Err::ok) return e;
  if (comm1.is_inter())
    if (Err e = group_compare(*comm1.remote_group, *comm2.remote_group, &remote); e != Err::ok) return e;
  static_assert(MPI_IDENT < MPI_CONGRUENT && MPI_CONGRUENT < MPI_SIMILAR && MPI_SIMILAR < MPI_UNEQUAL);
  *result = std::max(
      {int(MPI_CONGRUENT), local, remote});  // the least alike decides; same groups, other context: congruent
  return Err::ok;
}

Err comm_group(const Comm& comm, Group** group) noexcept {
  *group = Ref<Group>(comm.group).detach();
  return Err::ok;
}

Err comm_test_inter(const Comm& comm, int* flag) noexcept {
  *flag = comm.is_inter();
  return Err::ok;
}

Err comm_remote_size(const Comm& comm, int* size) noexcept {
  if (Err e = check_inter(comm); e != Err::ok) return e;
  *size = comm.remote_group->size();
  return Err::ok;
}

Err comm_remote_group(const Comm& comm, Group** group) noexcept {
  if (Err e = check_inter(comm); e != Err::ok) return e;
  *group = Ref<Group>(comm.remote_group).detach();
  return Err::ok;
}

Err comm_get_parent(Comm** parent) noexcept {
  *parent = nullptr;
  return Err::ok;
}

}  // namespace dunlin::comm
