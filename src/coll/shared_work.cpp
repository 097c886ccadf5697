// Shares and their pieces; see shared_work.hpp.
#include "coll/shared_work.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "copy/copy.hpp"
#include "progress/engine.hpp"

namespace dunlin::coll {

using protocol::MappedBuffer;
using protocol::RemoteBuffer;

Traffic traffic;

void store(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t all_bytes,
           bool is_for_far) noexcept {
  const copy::Hint hint = is_for_far ? copy::Hint::off_cache : copy::hint_for(all_bytes);
  if (hint == copy::Hint::off_cache) traffic.around += bytes;
  copy::bytes(to, from, bytes, hint);
}

bool are_others_far(const Cx& cx) noexcept {
  if (cx.run->engine.does_job_share_cores()) return false;
  for (int step = 1; step < cx.size; ++step)
    if (!cx.region->distance(cx.wrapped(cx.rank + step)).is_far()) return false;
  return true;
}

bool takes_over(const Cx& cx, std::size_t bytes, bool is_far) noexcept {
  return !cx.run->engine.does_job_share_cores() && copy::takes_over(bytes, is_far);
}

void take_over(const std::byte* lines, std::size_t bytes) noexcept {
  traffic.taken += bytes;
  copy::take_over(lines, bytes);
}

namespace {

struct TrafficNote {
  ~TrafficNote() {
    if (traffic.stored > 0)
      log::note("direct reductions loaded %llu bytes and stored %llu",
                static_cast<unsigned long long>(traffic.loaded),
                static_cast<unsigned long long>(traffic.stored));
  }
} traffic_note;

}  // namespace

void SharedWork::begin() noexcept {
  // Relaxed: only the time of its load counts.
  if (is_stamped()) offered(cx_.rank).stamp(turn_.number()).store(turn_.number(), std::memory_order_relaxed);
  offered(cx_.rank).turn = turn_.number();
  offered(cx_.rank).count = std::uint32_t(count_);
  offered(cx_.rank).reach = Reach::mapped;
  offered(cx_.rank).has_gaps = false;
  offered(cx_.rank).are_others_far = coll::are_others_far(cx_);
  turn_.share(cx_.rank).taken.store(turn_.number() << 32, std::memory_order_relaxed);  // arriving publishes
  turn_.share(cx_.rank).finished.store(turn_.number() << 32, std::memory_order_relaxed);
}

template <class Data>
bool SharedWork::try_offer(int index, const Data& data) noexcept {
  const std::uint64_t layout = data.type && data.bytes > 0 ? protocol::published_layout(*data.type) : 0;
  const bool is_described = data.is_contiguous() || layout != 0;
  const bool may_map = theirs_ ? theirs_->can_map() : !next_.is_memory_known;
  const bool is_mappable = may_map && cx_.comm->messaging->peers.is_mappable(data);
  if (data.bytes > 0 && !(is_described && is_mappable)) return false;
  offered(cx_.rank).buffers[index] = {reinterpret_cast<std::uint64_t>(data.address), data.bytes, layout};
  offered(cx_.rank).has_gaps |= layout != 0;
  return true;
}

template <class Data>
bool SharedWork::try_leave_to_kernel(int index, const Data& data) noexcept {
  const bool can_copy = theirs_ && !theirs_->needs_cookie() && !next_.kernel.is_found_slower();
  if (least_ != Reach::by_kernel || !can_copy || !data.is_contiguous()) return false;
  Reach& reach = offered(cx_.rank).reach;
  reach = std::min(reach, Reach::by_kernel);
  offered(cx_.rank).buffers[index] = {reinterpret_cast<std::uint64_t>(data.address), data.bytes,
                                      OfferedBuffers::kByKernel};
  return true;
}

std::byte* SharedWork::take_room(int index, std::size_t bytes) noexcept {
  if (bytes > transport::shm::Commons::kRoomBytes - room_used_) {
    offered(cx_.rank).buffers[index] = {0, bytes, 0};
    refuse();
    return nullptr;
  }
  offered(cx_.rank).buffers[index] = {room_used_, bytes, OfferedBuffers::kInRoom};
  std::byte* const at = turn_.room(cx_.rank) + room_used_;
  room_used_ += round_up(bytes);
  return at;
}

void SharedWork::give(int index, const Source& data) noexcept {
  const bool is_same = last_index_ >= 0 && data.address == last_given_.address &&
                       data.bytes == last_given_.bytes && data.type == last_given_.type;
  if (is_same) {
    offered(cx_.rank).buffers[index] = offered(cx_.rank).buffers[last_index_];
  } else if (!try_offer(index, data) && !try_leave_to_kernel(index, data)) {
    if (std::byte* const room = take_room(index, data.bytes)) copy_data(data, {room, data.bytes, nullptr, 0});
  }
  last_given_ = data;
  last_index_ = index;
}

void SharedWork::want(int index, const Target& data) noexcept {
  if (!try_offer(index, data) && !try_leave_to_kernel(index, data)) (void)take_room(index, data.bytes);
}

void SharedWork::fetch(int index, const Target& data) const noexcept {
  const RemoteBuffer& mine = buffer(cx_.rank, index);
  if (is_in_room(mine)) copy_data({turn_.room(cx_.rank) + mine.address, mine.bytes, nullptr, 0}, data);
}

void SharedWork::look_at_distance(int member) const noexcept {
  if (!is_stamped() || cx_.run->engine.does_job_share_cores()) return;
  transport::shm::Distance& distance = cx_.region->distance(member);
  // Flags, and the description itself, may be here already when they are loaded: a processor that waits for a
  // flag loads ahead what it loaded behind it the last times, and the neighbours of that.  The page has been
  // met, so no walk through its tables is timed.
  const std::uint64_t before = distance.before_load();
  if (before) static_cast<void>(offered(member).stamp(turn_.number()).load(std::memory_order_relaxed));
  distance.after_load(before, true);
}

bool SharedWork::are_all_far() const noexcept {
  for (int member = 0; member < cx_.size; ++member)
    if (!is_described(member) || !offered(member).are_others_far) return false;
  return true;
}

Reach SharedWork::least_reach() const noexcept {
  Reach least = Reach::mapped;
  bool has_gaps = false;
  for (int member = 0; member < cx_.size; ++member) {
    if (!is_described(member)) continue;
    least = std::min(least, offered(member).reach);
    has_gaps |= offered(member).has_gaps;
  }
  return least == Reach::by_kernel && has_gaps ? Reach::none : least;
}

protocol::Peer& SharedWork::peer(int member) const noexcept {
  return cx_.comm->messaging->peers.of(cx_.peer(member));
}

peer::PeerMemory* SharedWork::memory_of(protocol::Peer& peer) const noexcept {
  return cx_.comm->messaging->peers.memory_of(peer);
}

bool SharedWork::try_read(int member, const RemoteBuffer& from, const Target& to, std::size_t begin,
                          std::size_t end) const noexcept {
  if (!to.is_contiguous()) return false;
  const peer::Piece here{to.address + begin, end - begin};
  const peer::RemotePiece there{from.address + begin, end - begin};
  peer::PeerMemory* const memory = memory_of(peer(member));
  return memory && memory->try_read({&here, 1}, {&there, 1});
}

bool SharedWork::try_write(int member, const RemoteBuffer& to, const Source& from, std::size_t begin,
                           std::size_t end) const noexcept {
  if (!from.is_contiguous()) return false;
  const peer::Piece here{const_cast<std::byte*>(from.address) + begin, end - begin};
  const peer::RemotePiece there{to.address + begin, end - begin};
  peer::PeerMemory* const memory = memory_of(peer(member));
  return memory && memory->try_write({&there, 1}, {&here, 1});
}

MappedBuffer SharedWork::map(int member, const RemoteBuffer& buffer) const noexcept {
  if (is_in_room(buffer)) {
    std::byte* const at = turn_.room(member) + buffer.address;
    MappedBuffer in_room;
    static constexpr std::atomic<std::uint32_t> kNone = 0;
    in_room.mapping = {at, 0, &kNone};
    in_room.address = at;
    in_room.bytes = buffer.bytes;
    return in_room;
  }
  protocol::Peer& owner = peer(member);
  peer::PeerMemory* const memory = memory_of(owner);
  return memory && memory->can_map() ? owner.layouts.map(*memory, buffer) : MappedBuffer{};
}

bool SharedWork::is_still_valid(int member, const peer::Mapping& mapping) const noexcept {
  const std::byte* const room = turn_.room(member);
  if (mapping.at >= room && mapping.at < room + transport::shm::Commons::kRoomBytes) return true;
  return memory_of(peer(member))->is_still_valid(mapping);
}

int SharedWork::try_take(int member, int pieces) const noexcept {
  transport::shm::Number& taken = turn_.share(member).taken;
  const std::uint64_t end = (turn_.number() << 32) + std::uint64_t(pieces);
  // Relaxed: who takes a piece learns nothing by it; the buffers were published by those who arrived.
  if (taken.load(std::memory_order_relaxed) >= end) return -1;
  const std::uint64_t mine = taken.fetch_add(1, std::memory_order_relaxed);
  return mine < end ? int(mine - (turn_.number() << 32)) : -1;
}

void SharedWork::finish(int member, int pieces, bool is_good) const noexcept {
  transport::shm::ShareLine& share = turn_.share(member);
  if (!is_good) share.spoilt.store(turn_.number(), std::memory_order_relaxed);  // D1 publishes
  // D1 (pairs with F1): who sees the last piece finished sees all bytes of the share.
  const std::uint64_t before = share.finished.fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 == (turn_.number() << 32) + std::uint64_t(pieces)) turn_.wake_all();
}

Flags SharedWork::is_finished(int member, int pieces) const noexcept {
  return {&turn_.share(member).finished, member, 1, (turn_.number() << 32) + std::uint64_t(pieces)};
}

bool SharedWork::is_good() const noexcept {
  for (int member = 0; member < cx_.size; ++member)
    if (is_spoilt(member)) return false;
  return true;
}

}  // namespace dunlin::coll
