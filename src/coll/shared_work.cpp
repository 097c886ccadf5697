// Shares and their pieces; see shared_work.hpp.
#include "coll/shared_work.hpp"

namespace dunlin::coll {

using protocol::MappedBuffer;
using protocol::RemoteBuffer;

void SharedWork::begin() const noexcept {
  offered(cx_.rank).are_mappable = 1;
  turn_.share(cx_.rank).taken.store(turn_.number() << 32, std::memory_order_relaxed);  // arriving publishes
  turn_.share(cx_.rank).finished.store(turn_.number() << 32, std::memory_order_relaxed);
}

bool SharedWork::are_all_mappable() const noexcept {
  for (int member = 0; member < cx_.size; ++member)
    if (!offered(member).are_mappable) return false;
  return true;
}

MappedBuffer SharedWork::map(int member, const RemoteBuffer& buffer) const noexcept {
  protocol::Peers& peers = cx_.comm->messaging->peers;
  protocol::Peer& peer = peers.of(cx_.comm->target_members[member]);
  peer::PeerMemory* const memory = peers.memory_of(peer);
  return memory && memory->can_map() ? peer.layouts.map(*memory, buffer) : MappedBuffer{};
}

bool SharedWork::is_still_valid(int member, const peer::Mapping& mapping) const noexcept {
  protocol::Peers& peers = cx_.comm->messaging->peers;
  return peers.memory_of(peers.of(cx_.comm->target_members[member]))->is_still_valid(mapping);
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
  return {&turn_.share(member).finished, (turn_.number() << 32) + std::uint64_t(pieces), 1};
}

bool SharedWork::is_good() const noexcept {
  for (int member = 0; member < cx_.size; ++member)
    if (turn_.share(member).spoilt.load(std::memory_order_relaxed) == turn_.number()) return false;
  return true;
}

}  // namespace dunlin::coll
