#include "test/simulate/ledger.hpp"

#include <algorithm>

#include "coll/region.hpp"
#include "test/simulate/fibers.hpp"

namespace dunlin::test {

std::unique_ptr<World> make_node(int size, bool is_shared, bool is_far, bool is_read) {
  Nodes places;
  places.of_rank.assign(std::size_t(size), 0);
  places.memory.maps = true;
  places.memory.shared = is_shared ? 100 : 0;
  places.memory.reads = is_read;
  auto made = std::make_unique<World>(places, transport::sim::Weather{});
  for (int rank = 0; rank < size; ++rank)
    for (int other = 0; other < size; ++other)
      if (other != rank) made->comm(rank).region->distance(other).set(is_far);
  return made;
}

std::uint64_t messages(World& world) {
  std::uint64_t copies = 0;
  for (int rank = 0; rank < world.size(); ++rank) copies += world.memory(rank).copies();
  return world.moves() - copies;
}

void do_together(World& world, const Start& start) {
  std::vector<Request*> requests(std::size_t(world.size()), nullptr);
  for (int rank = 0; rank < world.size(); ++rank)
    ASSERT_EQ(start(rank, &requests[std::size_t(rank)]), Err::ok);
  world.finish(requests);
  for (Request* each : requests) give_back(each);
}

void do_in_step(World& world, const Start& start) {
  Fibers fibers(world, [&](int rank) {
    Request* request = nullptr;
    ASSERT_EQ(start(rank, &request), Err::ok);
    world.engine(rank).wait(*request);
    give_back(request);
  });
  fibers.run();
}

Ledger::Ledger(World& world, bool are_in_step)
    : world_(world),
      are_in_step_(are_in_step),
      done_(std::size_t(world.size()), 0),
      clocks_(std::size_t(world.size()), 0) {}

Ledger::Owned Ledger::find(const void* at) const {
  for (const Owned& each : owned_)
    if (at >= each.at && at < each.at + each.bytes) return each;
  return {nullptr, 0, elsewhere, -1};
}

std::uint64_t Ledger::copied() const {
  std::uint64_t all = 0;
  for (const auto& from : copied_)
    for (const std::uint64_t bytes : from) all += bytes;
  return all;
}

void Ledger::note_operand(const Moved& moved, const void* from) {
  constexpr std::size_t kStripBytes = 8 << 10;
  const Where where = find(from).where;
  if (moved.is_combined)
    loaded_[where] += moved.bytes;
  else
    copied_[where][find(moved.to).where] += moved.bytes;
  const bool was_just_stored = (from == last_ || from == last_sum_) && moved.bytes == last_bytes_;
  if (where == received && !(was_just_stored && moved.bytes <= kStripBytes)) loaded_late_ += moved.bytes;
}

void Ledger::see(const Moved& moved) {
  for (const void* const from : moved.from) note_operand(moved, from);
  if (moved.is_combined) {
    stored_[find(moved.to).where] += moved.bytes;
    last_sum_ = moved.to;
  }
  last_ = moved.to;
  last_bytes_ = moved.bytes;
  if (are_in_step_) take_time(moved);
}

int Ledger::running() const {
  for (int rank = 0; rank < world_.size(); ++rank)
    if (progress::Engine::of_process() == &world_.engine(rank)) return rank;
  ADD_FAILURE() << "no rank runs";
  return 0;
}

bool Ledger::is_ahead(int rank) const {
  return *std::min_element(clocks_.begin(), clocks_.end()) < clocks_[std::size_t(rank)];
}

void Ledger::take_time(const Moved& moved) {
  const int me = running();
  std::uint64_t& clock = clocks_[std::size_t(me)];
  const int from = find(moved.from[0]).rank, to = find(moved.to).rank;
  if (!moved.is_combined && from != to) transfers_.push_back({me, from, to, clock, clock + moved.bytes});
  clock += moved.bytes;
  done_[std::size_t(me)] += moved.bytes;
  // Who is behind and has something to do comes on in so many tries, as sure as chance can be.
  const int tries = 40 * world_.size();
  for (int i = 0; i < tries && is_ahead(me); ++i) world_.network().give_way();
}

}  // namespace dunlin::test
