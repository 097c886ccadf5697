// New groups out of old ones (MPI 5.0, 7.3.2).  Cost: O(n log n) for the sets, O(n) for the others.
#include <vector>

#include "comm/functions.hpp"

namespace dunlin::comm {
namespace {

Err make(std::vector<int> members, const Group& from, Group** new_group) noexcept {
  if (members.empty())
    *new_group = Ref<Group>(&empty_group()).detach();
  else
    *new_group = new Group(std::move(members), from);
  return Err::ok;
}

/// The group that knows who this process is: MPI_GROUP_EMPTY does not.
const Group& knowing(const Group& group1, const Group& group2) noexcept {
  return group1.me() >= 0 ? group1 : group2;
}

/// Members of `group1` that are (or are not) in `group2`, in the order of `group1`.
std::vector<int> members_by(const Group& group1, const Group& group2, bool in_group2) noexcept {
  std::vector<int> members;
  for (int member : group1.span())
    if ((group2.rank_of(member) >= 0) == in_group2) members.push_back(member);
  return members;
}

/// Marks ranks as chosen and remembers their order.
class Choice {
 public:
  explicit Choice(const Group& group) noexcept : group_(group), is_chosen_(std::size_t(group.size())) {}

  Err add(int rank, const char* argument, int i) noexcept {
    if (rank < 0 || rank >= group_.size())
      return fail(Err::rank, "%s[%d] gives rank %d; the group has %d members", argument, i, rank,
                  group_.size());
    if (is_chosen_[std::size_t(rank)])
      return fail(Err::rank, "%s[%d] gives rank %d, which was given before; name each rank once", argument, i,
                  rank);
    is_chosen_[std::size_t(rank)] = true;
    members_.push_back(group_.member(rank));
    return Err::ok;
  }

  Err add(const int* ranks, int n) noexcept {
    for (int i = 0; i < n; ++i)
      if (Err e = add(ranks[i], "ranks", i); e != Err::ok) return e;
    return Err::ok;
  }

  Err add(const int (*ranges)[3], int n) noexcept {
    for (int i = 0; i < n; ++i) {
      const std::int64_t first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
      if (stride == 0) return fail(Err::arg, "ranges[%d] has stride 0; a range is (first, last, stride)", i);
      if (stride > 0 ? first > last : first < last)
        return fail(Err::arg, "ranges[%d] goes from %d to %d, but its stride is %d", i, ranges[i][0],
                    ranges[i][1], ranges[i][2]);
      for (std::int64_t rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride)
        if (Err e = add(int(rank), "ranges", i); e != Err::ok) return e;
    }
    return Err::ok;
  }

  /// In the order of choosing.
  std::vector<int> chosen() noexcept { return std::move(members_); }
  /// In the order of the group.
  std::vector<int> others() const noexcept {
    std::vector<int> members;
    for (int rank = 0; rank < group_.size(); ++rank)
      if (!is_chosen_[std::size_t(rank)]) members.push_back(group_.member(rank));
    return members;
  }

 private:
  const Group& group_;
  std::vector<bool> is_chosen_;
  std::vector<int> members_;
};

}  // namespace

Err group_union(const Group& group1, const Group& group2, Group** new_group) noexcept {
  std::vector<int> members(group1.span().begin(), group1.span().end());
  const std::vector<int> more = members_by(group2, group1, false);
  members.insert(members.end(), more.begin(), more.end());
  return make(std::move(members), knowing(group1, group2), new_group);
}

Err group_intersection(const Group& group1, const Group& group2, Group** new_group) noexcept {
  return make(members_by(group1, group2, true), knowing(group1, group2), new_group);
}

Err group_difference(const Group& group1, const Group& group2, Group** new_group) noexcept {
  return make(members_by(group1, group2, false), knowing(group1, group2), new_group);
}

Err group_incl(const Group& group, int n, const int* ranks, Group** new_group) noexcept {
  Choice choice(group);
  if (Err e = choice.add(ranks, n); e != Err::ok) return e;
  return make(choice.chosen(), group, new_group);
}

Err group_excl(const Group& group, int n, const int* ranks, Group** new_group) noexcept {
  Choice choice(group);
  if (Err e = choice.add(ranks, n); e != Err::ok) return e;
  return make(choice.others(), group, new_group);
}

Err group_range_incl(const Group& group, int n, const int (*ranges)[3], Group** new_group) noexcept {
  Choice choice(group);
  if (Err e = choice.add(ranges, n); e != Err::ok) return e;
  return make(choice.chosen(), group, new_group);
}

Err group_range_excl(const Group& group, int n, const int (*ranges)[3], Group** new_group) noexcept {
  Choice choice(group);
  if (Err e = choice.add(ranges, n); e != Err::ok) return e;
  return make(choice.others(), group, new_group);
}

}  // namespace dunlin::comm
