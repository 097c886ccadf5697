// What is not done at every call; see region.hpp.
#include "coll/region.hpp"

#include <algorithm>

namespace dunlin::coll {

using transport::shm::Commons;
using transport::shm::LeftLine;

Region::Region(const Commons& commons, int me, std::vector<transport::shm::Channel*> channels) noexcept
    : commons_(commons), me_(me), channels_(std::move(channels)) {
  // Not 0 where MPI was finalised and begins again: then all members are at the same number, but perhaps
  // still leaving.
  for (int track = 0; track < Commons::kTracks; ++track) {
    const std::uint64_t left = commons_.left(track)[me].left.load(std::memory_order_relaxed);
    tracks_[track] = {left, left, 0, 0};
  }
}

Region::~Region() { commons_.leave_for_good(size()); }

Flags Region::look_for_place(int track, std::uint64_t number) noexcept {
  const LeftLine* const lines = commons_.left(track);
  std::uint64_t all_left = UINT64_MAX;
  for (int member = 0; member < size(); ++member)
    all_left = std::min(all_left, lines[member].left.load(std::memory_order_acquire));  // pairs with L1
  tracks_[track].known_left = all_left;
  const std::uint64_t turns = turns_of(track);
  if (number <= all_left + turns) return {};
  commons_.want_place(track, number);
  return {&lines->left, 0, size(), number - turns};
}

}  // namespace dunlin::coll
