// Scatter of blocks whose lengths only the root and their receivers know, in shared memory: the root puts a
// table of places there, and the short blocks behind it; every member reads its own.
//
// Long blocks are messages, which both ends copy.  The root alone decides which; the table says it.
// Cost: p n beta at the root, n beta at each other rank.
#include <cstring>

#include "coll/algorithms/algorithms.hpp"
#include "coll/rules.hpp"
#include "progress/engine.hpp"

namespace dunlin::coll {
namespace {

/// Of a member's block; all lie in a row where the root's data begins.
struct Place {
  std::uint32_t position;  // 0: it comes as a message
  std::uint32_t bytes;     // of one that is there
};

/// Finds a place for every block that is short, as long as there is room; answers how much is used.
std::size_t make_places(const Cx& cx, const Blocks& all, int root, Place* places) noexcept {
  const std::size_t short_max = shared_bytes_max();
  std::size_t used = std::size_t(cx.size) * sizeof(Place);
  for (int to = 0; to < cx.size; ++to) {
    const std::size_t bytes = all[to].bytes();
    const std::size_t position = place_behind(used, bytes);
    const bool has_room = position + bytes <= transport::shm::Commons::kRoomBytes;
    const bool is_there = to != root && bytes <= short_max && has_room;
    places[to] = {is_there ? std::uint32_t(position) : 0, std::uint32_t(bytes)};
    if (is_there) used = position + bytes;
  }
  return used;
}

}  // namespace

Task scatter_varied(Cx cx, Blocks all, Block mine, int root, bool in_place) {
  const Turn turn = cx.turn();
  if (cx.rank == root) {
    const std::size_t table_bytes = std::size_t(cx.size) * sizeof(Place);
    auto* const places = reinterpret_cast<Place*>(cx.take(table_bytes));
    co_await cx.until(turn.place_is_free());
    const std::size_t used = make_places(cx, all, root, places);
    std::byte* const at = turn.data(root, used);
    std::memcpy(at, places, table_bytes);
    for (int to = 0; to < cx.size; ++to)
      if (places[to].position) copy(all[to], Block::of_bytes(at + places[to].position, places[to].bytes));
    turn.arrive(used);
    for (int to = 0; to < cx.size; ++to)
      if (to != root && !places[to].position) cx.post_send(all[to].source(), to);
    if (!in_place) copy(all[root], mine);
  } else if (mine.bytes() > 0) {
    co_await cx.until(turn.is_there(root));
    const std::byte* const theirs = turn.data(root, turn.bytes_of(root));
    const Place place = reinterpret_cast<const Place*>(theirs)[cx.rank];
    if (place.position == 0)
      cx.post_recv(mine.target(), root);
    else if (cx.agrees(root, place.bytes, mine.bytes()))
      copy(Block::of_bytes(const_cast<std::byte*>(theirs) + place.position, place.bytes), mine);
  } else {
    co_await cx.until(turn.place_is_free());  // nobody runs ahead of turns not left yet
  }
  turn.leave(false);
  co_await cx.all();
  co_return Err::ok;
}

}  // namespace dunlin::coll
