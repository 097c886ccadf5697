#include <algorithm>

#include "comm/functions.hpp"

namespace dunlin::comm {
namespace {

bool have_same_members(const Group& group1, const Group& group2) noexcept {
  return std::all_of(group1.span().begin(), group1.span().end(),
                     [&](int member) { return group2.rank_of(member) >= 0; });
}

}  // namespace

Err group_size(const Group& group, int* size) noexcept {
  *size = group.size();
  return Err::ok;
}

Err group_rank(const Group& group, int* rank) noexcept {
  *rank = group.rank() >= 0 ? group.rank() : MPI_UNDEFINED;
  return Err::ok;
}

Err group_translate_ranks(const Group& group1, int n, const int* ranks1, const Group& group2,
                          int* ranks2) noexcept {
  for (int i = 0; i < n; ++i)
    if (ranks1[i] != MPI_PROC_NULL && (ranks1[i] < 0 || ranks1[i] >= group1.size()))
      return fail(Err::rank, "ranks1[%d] is %d; the group has %d members", i, ranks1[i], group1.size());
  for (int i = 0; i < n; ++i) {
    if (ranks1[i] == MPI_PROC_NULL) {
      ranks2[i] = MPI_PROC_NULL;
      continue;
    }
    const int there = group2.rank_of(group1.member(ranks1[i]));
    ranks2[i] = there >= 0 ? there : MPI_UNDEFINED;
  }
  return Err::ok;
}

Err group_compare(const Group& group1, const Group& group2, int* result) noexcept {
  const auto members1 = group1.span(), members2 = group2.span();
  if (std::equal(members1.begin(), members1.end(), members2.begin(), members2.end()))
    *result = MPI_IDENT;
  else
    *result = group1.size() == group2.size() && have_same_members(group1, group2) ? MPI_SIMILAR : MPI_UNEQUAL;
  return Err::ok;
}

// MPI_GROUP_EMPTY may be freed: MPI_Group_incl and others give it out.
Err group_free(Group& group) noexcept {
  if (!group.is_predefined()) group.release();
  return Err::ok;
}

}  // namespace dunlin::comm
