// What a session tells about process sets (MPI 5.0, 11.3.2).  There are the two that the standard names.
#include <strings.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "comm/functions.hpp"
#include "comm/process.hpp"

namespace dunlin::comm {
namespace {

constexpr const char* kSets[] = {"mpi://WORLD", "mpi://SELF"};
constexpr int kSetCount = sizeof kSets / sizeof kSets[0];

/// The group of a process set; names that start with mpi:// do not depend on case.
Err find(const char* name, Ref<Group>* group) noexcept {
  const Process& process = *Process::of_process();
  if (strcasecmp(name, kSets[0]) == 0) return *group = process.world->group, Err::ok;
  if (strcasecmp(name, kSets[1]) == 0) return *group = process.self->group, Err::ok;
  return fail(Err::arg, "pset_name is \"%.100s\"; MPI_Session_get_nth_pset tells which there are", name);
}

}  // namespace

Err session_get_num_psets(Session& session, Info* info, int* npset_names) noexcept {
  *npset_names = kSetCount;
  return Err::ok;
}

Err session_get_nth_pset(Session& session, Info* info, int n, int* pset_len, char* pset_name) noexcept {
  if (n < 0 || n >= kSetCount)
    return fail(Err::arg, "n is %d; there are %d process sets, counted from 0", n, kSetCount);
  if (*pset_len > 0 && !pset_name)
    return fail(Err::arg, "pset_name is a null pointer, but pset_len is %d", *pset_len);
  const std::size_t bytes = std::strlen(kSets[n]);
  if (*pset_len > 0) {
    const std::size_t copied = std::min(bytes, std::size_t(*pset_len) - 1);
    std::memcpy(pset_name, kSets[n], copied);
    pset_name[copied] = '\0';
  }
  *pset_len = int(bytes) + 1;  // what the name needs, with its NUL
  return Err::ok;
}

Err session_get_pset_info(Session& session, const char* pset_name, Info** info) noexcept {
  Ref<Group> group;
  if (Err e = find(pset_name, &group); e != Err::ok) return e;
  *info = new Info;
  (*info)->set("mpi_size", std::to_string(group->size()));
  return Err::ok;
}

Err group_from_session_pset(Session& session, const char* pset_name, Group** newgroup) noexcept {
  Ref<Group> group;
  if (Err e = find(pset_name, &group); e != Err::ok) return e;
  // A group of its own, so that communicators made from it know the session.
  auto* const made = new Group(std::vector<int>(group->span().begin(), group->span().end()), group->me());
  made->session = Ref<Session>(&session);
  *newgroup = made;
  return Err::ok;
}

}  // namespace dunlin::comm
