#include "object/group.hpp"

#include <algorithm>

namespace dunlin {

Group::Group(std::vector<int> members, int my_peer_index) noexcept
    : Object(Kind::group), members_(std::move(members)), rank_(rank_of(my_peer_index)) {}

int Group::rank_of(int peer_index) const noexcept {
  const auto found = std::find(members_.begin(), members_.end(), peer_index);
  return found == members_.end() ? -1 : int(found - members_.begin());
}

}  // namespace dunlin
