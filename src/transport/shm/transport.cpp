// See transport.hpp.
#include "transport/shm/transport.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/little_behind.hpp"
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
/// Not a position: the ring is looked at, whatever its doorbell says.
constexpr std::uint64_t kNothingHeard = UINT64_MAX;

/// Messages in one run, out of a cell.
class CellPayload final : public Payload {
 public:
  CellPayload(const std::byte* data, std::size_t bytes) noexcept { first = {data, bytes}; }
  void copy_to(std::byte* to, std::size_t from, std::size_t bytes) const noexcept override {
    DUNLIN_ASSERT(from + bytes <= first.size());
    if (bytes > 0) copy_block(to, first.data() + from, bytes);  // an empty message may have no buffer
  }
};

[[gnu::noinline]] int read_any(RingReader& reader, int peer, Inbox& inbox) noexcept {
  return reader.try_read([&inbox, peer](const Envelope& envelope, const Payload& payload) noexcept {
    inbox.arrived(peer, envelope, payload);
  });
}

/// The next message of a ring, where one is there; answers how many were delivered.
int try_read(RingReader& reader, int peer, Inbox& inbox) noexcept {
  const RingReader::Front message = reader.front();
  if (!message) return 0;
  if (!message.is_short() || !inbox.try_arrive_short(message.context(), message.source_and_tag(),
                                                     message.payload(), message.bytes()))
    return read_any(reader, peer, inbox);
  reader.pop_short();
  return 1;
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
    log::note(
        "the kernel refuses membarrier; each message to a rank of this machine costs one memory fence more");
  return std::unique_ptr<Transport>(new Transport(std::move(*segment), setup, takes_part));
}

Transport::Transport(Segment segment, const Setup& setup, bool takes_part_in_barriers) noexcept
    : segment_(std::move(segment)),
      peers_(setup.node_peers.begin(), setup.node_peers.end()),
      sender_{segment_, segment_.cell_pool(setup.local_rank), setup.local_rank, !takes_part_in_barriers, {}},
      channels_(peers_.size()),
      readers_(peers_.size()),
      heard_(peers_.size(), kNothingHeard),
      inbox_reader_(segment_.inbox(setup.local_rank), segment_.base()) {
  DUNLIN_ASSERT(setup.ranks_per_cpu >= 1);
  sender_.rings.bytes_max /= std::uint64_t(setup.ranks_per_cpu);
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

RingReader* Transport::reader_of(int peer) const noexcept {
  const int sender = local_rank_of(peer);
  return sender >= 0 ? readers_[std::size_t(sender)].get() : nullptr;
}

int Transport::poll_peer(int peer, Inbox& inbox) noexcept {
  RingReader* const reader = reader_of(peer);
  return reader ? try_read(*reader, peer, inbox) : poll_inbox(inbox, 1);
}

int Transport::poll(Inbox& inbox) noexcept {
  // The inbox first: a ring that starts there is read at once, as whoever finds nothing may go to sleep.
  const int from_inbox = poll_inbox(inbox, kMessagesPerInbox);
  return from_inbox + poll_rings(inbox);
}

int Transport::poll_rings(Inbox& inbox) noexcept {
  const Doorbell* const doorbells = segment_.doorbells(sender_.me);
  int delivered = 0;
  for (int& sender : active_) {
    std::uint64_t rung = 0;
    if (reads_doorbells_) [[unlikely]] {
      // D2 (pairs with D1 in Channel::attend): the lines that this doorbell announced are there.  Loaded
      // before the ring is read: what comes later rings anew.
      rung = doorbells[sender].load(std::memory_order_acquire);
      if (rung == heard_[std::size_t(sender)]) continue;
    }
    const int peer = peers_[std::size_t(sender)];
    RingReader& reader = *readers_[std::size_t(sender)];
    int messages = 0;
    bool is_there = true, is_last = false;
    while (is_there && !is_last && messages < kMessagesPerRing) {
      // Whoever waits for a long one goes on behind it, and does not wait here for further parts of the
      // next one, which no receive may want yet: exchanges of 4 and 8 KiB by MPI_Waitall take 1.3 and 2.1 us,
      // not 1.8 and 3.0 (2 VCPUs of an Intel Emerald Rapids).
      is_last = reader.front().is_in_parts();
      is_there = try_read(reader, peer, inbox) != 0;
      messages += is_there;
    }
    if (!is_there) heard_[std::size_t(sender)] = rung;
    if (messages == 0) continue;
    delivered += messages;
    std::swap(sender, active_.front());
  }
  return delivered;
}

int Transport::poll_inbox(Inbox& inbox, int messages_max) noexcept {
  int delivered = 0;
  const auto deliver = [&](Cell& cell) noexcept {
    if (cell.is_promotion) return start_ring(int(cell.sender));
    const Envelope envelope{cell.context, cell.source, cell.tag, cell.bytes, cell.kind};
    inbox.arrived(peers_[cell.sender], envelope, CellPayload(cell.payload(), cell.bytes));
    ++delivered;
  };
  while (delivered < messages_max && inbox_reader_.try_read(deliver)) {
  }
  return delivered;
}

int Transport::try_take_commons() noexcept {
  for (int index = 1; index < kCommons; ++index) {
    Commons commons = segment_.commons(sender_.me, index);
    if (are_commons_taken_[index] && !commons.try_clear()) continue;
    are_commons_taken_[index] = true;
    return index;
  }
  return -1;
}

void Transport::announce_sleep() noexcept {
  has_announced_room_ = std::exchange(sender_.wants_room, false);
  attention().announce(has_announced_room_);
}

void Transport::sleep(std::int64_t timeout_ns) noexcept {
  // A ring that the last poll before this found full, and none was before: its reader does not know.
  if (!sender_.wants_room || has_announced_room_) attention().sleep(timeout_ns);
}

void Transport::start_ring(int sender) noexcept {
  DUNLIN_ASSERT(!readers_[std::size_t(sender)]);
  readers_[std::size_t(sender)] =
      std::make_unique<RingReader>(segment_.ring(sender, sender_.me), sender_.must_fence);
  heard_[std::size_t(sender)] = kNothingHeard;  // may have sent before it knew that we want doorbells
  active_.push_back(sender);
  if (active_.size() <= kRingsPolledMax || reads_doorbells_) return;
  reads_doorbells_ = true;
  std::fill(heard_.begin(), heard_.end(), kNothingHeard);
  attention().ask_for_doorbells();
}

/// Of the peer with this index, or -1.
int Transport::local_rank_of(int peer) const noexcept {
  const auto guess = std::size_t(peer - peers_.front());  // right where the node's ranks are consecutive
  if (guess < peers_.size() && peers_[guess] == peer) [[likely]]
    return int(guess);
  const auto place = std::lower_bound(peers_.begin(), peers_.end(), peer);
  return place != peers_.end() && *place == peer ? int(place - peers_.begin()) : -1;
}

}  // namespace dunlin::transport::shm
