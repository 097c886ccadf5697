#include "object/group.hpp"

#include <mpi.h>

#include <algorithm>
#include <new>

namespace dunlin {
namespace {

constexpr std::size_t kSearchedInOrder = 16;  // members; below it the index would not pay

bool is_identity(const std::vector<int>& members) noexcept {
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i] != int(i)) return false;
  return true;
}

}  // namespace

Group::Group(std::vector<int> members, int my_peer_index) noexcept
    : Object(Kind::group),
      members_(std::move(members)),
      is_identity_(is_identity(members_)),
      me_(my_peer_index),
      rank_(rank_of(my_peer_index)) {}

int Group::rank_of(int peer_index) const noexcept {
  if (is_identity_) return peer_index >= 0 && peer_index < size() ? peer_index : -1;
  if (members_.size() <= kSearchedInOrder) {
    const auto found = std::find(members_.begin(), members_.end(), peer_index);
    return found == members_.end() ? -1 : int(found - members_.begin());
  }
  if (index_.empty()) {
    index_.reserve(members_.size());
    for (std::size_t i = 0; i < members_.size(); ++i) index_.push_back({members_[i], int(i)});
    std::sort(index_.begin(), index_.end(), [](const Place& a, const Place& b) { return a.peer < b.peer; });
  }
  const auto found = std::lower_bound(index_.begin(), index_.end(), peer_index,
                                      [](const Place& a, int peer) { return a.peer < peer; });
  return found == index_.end() || found->peer != peer_index ? -1 : found->rank;
}

Group& empty_group() noexcept {
  alignas(Group) static unsigned char
      storage[sizeof(Group)];  // never destroyed: used until the end of the process
  static Group* const group = ::new (storage) Group({}, -1);
  return *group;
}

void init_predefined_groups() noexcept {
  make_predefined(empty_group(), reinterpret_cast<std::uintptr_t>(MPI_GROUP_EMPTY));
}

}  // namespace dunlin
