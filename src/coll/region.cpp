// Arriving and leaving; see region.hpp.
#include "coll/region.hpp"

#include <algorithm>

namespace dunlin::coll {

using transport::shm::Commons;
using transport::shm::LeftLine;

Region::Region(const Commons& commons, int me, std::vector<transport::shm::Channel*> channels) noexcept
    : commons_(commons), me_(me), channels_(std::move(channels)) {
  // Not 0 where MPI was finalised and begins again: then all members are at the same number.
  for (int track = 0; track < Commons::kTracks; ++track) {
    const std::uint64_t left = commons_.left(track)[me].left.load(std::memory_order_relaxed);
    tracks_[track] = {left, left, 0, left};
  }
}

Region::~Region() { commons_.leave_for_good(size()); }

Flags Turn::place_is_free() const noexcept {
  Region::Track& track = region_->tracks_[track_];
  constexpr std::uint64_t kTurns = Commons::kTurns;
  if (number_ <= track.known_left + kTurns) [[likely]]
    return {};
  const LeftLine* const lines = region_->commons_.left(track_);
  std::uint64_t all_left = UINT64_MAX;
  for (int member = 0; member < region_->size(); ++member)
    all_left = std::min(all_left, lines[member].left.load(std::memory_order_acquire));  // pairs with L1
  track.known_left = all_left;
  if (number_ <= all_left + kTurns) return {};
  return {&lines->left, number_ - kTurns, region_->size()};
}

void Turn::arrive() const noexcept {
  transport::shm::ArrivalLine& mine = arrivals_[region_->me_];
  mine.known_left = region_->tracks_[track_].left;
  // A1 (pairs with F1 in Flags): who sees the number sees this member's data.
  mine.arrived.store(number_, std::memory_order_release);
  region_->wake_all();
}

void Turn::leave(bool has_met_all) const noexcept {
  Region::Track& track = region_->tracks_[track_];
  if (has_met_all) {
    std::uint64_t all_left = UINT64_MAX;
    for (int member = 0; member < region_->size(); ++member)
      all_left = std::min(all_left, arrivals_[member].known_left);
    track.known_left = std::max(track.known_left, all_left);
  }
  DUNLIN_ASSERT(number_ > track.left && number_ - track.left <= 64);
  track.left_after |= std::uint64_t{1} << (number_ - track.left - 1);
  if (!(track.left_after & 1)) return;
  for (; track.left_after & 1; track.left_after >>= 1) ++track.left;
  // L1 (pairs with place_is_free and F1): who sees the number may overwrite what this member has read.
  region_->commons_.left(track_)[region_->me_].left.store(track.left, std::memory_order_release);
  if (!has_met_all) region_->wake_all();
}

}  // namespace dunlin::coll
