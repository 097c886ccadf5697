// See transport.hpp.
#include "transport/shm/transport.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"

namespace dunlin::transport::shm {
namespace {

/// From one ring before the next is looked at: enough to spread the cost of a round over a stream, few
/// enough that no peer waits long behind another.
constexpr int kMessagesPerRing = 32;
constexpr int kMessagesPerInbox = 16;
/// Up to so many rings are looked at one by one (half a nanosecond each); of more only those whose
/// doorbell rang.
constexpr std::size_t kRingsPolledMax = 16;

constexpr int kDoorbellsInGroup = sizeof(DoorbellGroup) / sizeof(Doorbell);
constexpr int kDoorbellBits = 8 * sizeof(Doorbell);
static_assert(std::endian::native == std::endian::little);

/// Relaxed: says only where to look; D2 orders what is found there.
DoorbellGroup load_group(const Doorbell* doorbells, std::size_t group) noexcept {
  return __atomic_load_n(reinterpret_cast<const DoorbellGroup*>(doorbells) + group, __ATOMIC_RELAXED);
}

}  // namespace

Result<std::unique_ptr<Transport>> Transport::open(const Setup& setup) noexcept {
  DUNLIN_ASSERT(setup.local_rank >= 0);
  DUNLIN_ASSERT(std::size_t(setup.local_rank) < setup.node_peers.size());
  DUNLIN_ASSERT(std::is_sorted(setup.node_peers.begin(), setup.node_peers.end()));
  Result<Segment> segment = Segment::open(setup.fd, setup.offset, int(setup.node_peers.size()));
  if (!segment) return segment.error();
  const bool takes_part = os::register_for_global_barrier();
  if (!takes_part)
    log::note("the kernel refuses membarrier; every message to a peer of this node pays a fence");
  return std::unique_ptr<Transport>(new Transport(std::move(*segment), setup, takes_part));
}

Transport::Transport(Segment segment, const Setup& setup, bool takes_part_in_barriers) noexcept
    : segment_(std::move(segment)),
      peers_(setup.node_peers.begin(), setup.node_peers.end()),
      sender_{segment_, segment_.cell_pool(setup.local_rank), setup.local_rank, !takes_part_in_barriers, {}},
      channels_(peers_.size()),
      readers_(peers_.size()),
      inbox_reader_(segment_.inbox(setup.local_rank), segment_.base()) {
  sender_.always_wanted.ask_for_fences();
  if (!takes_part_in_barriers) attention().ask_for_fences();
}

Channel* Transport::connect(int peer) noexcept {
  const int receiver = local_rank_of(peer);
  if (receiver < 0 || receiver == sender_.me) return nullptr;
  std::unique_ptr<Channel>& channel = channels_[std::size_t(receiver)];
  if (!channel) channel = std::make_unique<Channel>(sender_, receiver);
  return channel.get();
}

int Transport::poll(Inbox& inbox) noexcept {
  return poll_rings(inbox) + poll_inbox(inbox, kMessagesPerInbox);
}

int Transport::poll_rings(Inbox& inbox) noexcept {
  if (reads_doorbells_) [[unlikely]]
    return poll_doorbells(inbox);
  int delivered = 0;
  for (int& sender : active_) {
    bool is_empty = false;
    const int messages = poll_ring(sender, inbox, &is_empty);
    if (messages == 0) continue;
    delivered += messages;
    std::swap(sender, active_.front());
  }
  return delivered;
}

int Transport::poll_ring(int sender, Inbox& inbox, bool* is_empty) noexcept {
  RingReader& reader = *readers_[std::size_t(sender)];
  int delivered = 0;
  while (delivered < kMessagesPerRing) {
    if (!try_read(reader, peers_[std::size_t(sender)], inbox)) {
      *is_empty = true;
      break;
    }
    ++delivered;
  }
  return delivered;
}

int Transport::poll_doorbells(Inbox& inbox) noexcept {
  bool is_empty = false;
  int delivered =
      poll_ring(active_.front(), inbox, &is_empty);  // the one used last, without a look at its doorbell
  const Doorbell* const doorbells = segment_.doorbells(sender_.me);
  for (std::size_t group = 0; group < heard_.size(); ++group) {
    const DoorbellGroup news = load_group(doorbells, group) ^ heard_[group];
    if (news == 0) [[likely]]
      continue;
    for (int place = 0; place < kDoorbellsInGroup; ++place) {
      const DoorbellGroup mask = DoorbellGroup{0xffff} << (place * kDoorbellBits);
      const int sender = int(group) * kDoorbellsInGroup + place;
      if ((news & mask) == 0 || !readers_[std::size_t(sender)]) continue;
      // D2 (pairs with D1 in Channel::attend): the lines that this doorbell announced are there.  Loaded
      // before the ring is read: what comes later rings anew.
      const DoorbellGroup rung = doorbells[sender].load(std::memory_order_acquire);
      is_empty = false;
      const int messages = poll_ring(sender, inbox, &is_empty);
      if (is_empty) heard_[group] = (heard_[group] & ~mask) | rung << (place * kDoorbellBits);
      if (messages == 0) continue;
      delivered += messages;
      std::swap(*std::find(active_.begin(), active_.end(), sender), active_.front());
    }
  }
  return delivered;
}

/// Makes the next poll look into a ring, whatever its doorbell says.
void Transport::expect_news(int sender) noexcept {
  const auto group = std::size_t(sender) / kDoorbellsInGroup;
  const int shift = sender % kDoorbellsInGroup * kDoorbellBits;
  const DoorbellGroup mask = DoorbellGroup{0xffff} << shift;
  const DoorbellGroup differs = ~load_group(segment_.doorbells(sender_.me), group) & mask;
  heard_[group] = (heard_[group] & ~mask) | differs;
}

int Transport::poll_inbox(Inbox& inbox, int messages_max) noexcept {
  int delivered = 0;
  const auto deliver = [&](Cell& cell) noexcept {
    if (cell.is_promotion) return start_ring(int(cell.sender));
    const Envelope envelope{cell.context, cell.source, cell.tag, cell.bytes, cell.kind};
    inbox.arrived(peers_[cell.sender], envelope, RunPayload(cell.payload(), cell.bytes));
    ++delivered;
  };
  while (delivered < messages_max && inbox_reader_.try_read(deliver)) {}
  return delivered;
}

void Transport::start_ring(int sender) noexcept {
  DUNLIN_ASSERT(!readers_[std::size_t(sender)]);
  readers_[std::size_t(sender)] = std::make_unique<RingReader>(segment_.ring(sender, sender_.me));
  active_.push_back(sender);
  if (active_.size() <= kRingsPolledMax) return;
  if (reads_doorbells_) return expect_news(sender);  // may have sent before it knew that we want doorbells
  reads_doorbells_ = true;
  heard_.resize((peers_.size() + kDoorbellsInGroup - 1) / kDoorbellsInGroup);
  attention().ask_for_doorbells();
  for (const int each : active_) expect_news(each);
}

int Transport::search_local_rank(int peer) const noexcept {
  const auto place = std::lower_bound(peers_.begin(), peers_.end(), peer);
  return place != peers_.end() && *place == peer ? int(place - peers_.begin()) : -1;
}

}  // namespace dunlin::transport::shm
