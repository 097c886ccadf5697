#include "protocol/shared_copy.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "base/big_lock.hpp"
#include "copy/copy.hpp"
#include "datatype/cursor.hpp"
#include "os/clock.hpp"
#include "protocol/limits.hpp"
#include "protocol/peers.hpp"

namespace dunlin::protocol {
namespace {

using transport::shm::ClaimedChunks;
using transport::shm::CopyProgress;
using transport::shm::kTransfers;
using transport::shm::Transfer;
using transport::shm::TransferBuffer;

/// In whole cache lines.
std::size_t half_of(std::size_t bytes) noexcept { return ((bytes + 1) / 2 + 63) & ~std::size_t{63}; }

CopySide other(CopySide side) noexcept {
  return side == CopySide::sender ? CopySide::receiver : CopySide::sender;
}

}  // namespace

unsigned Chunks::cut(std::size_t message_bytes) noexcept {
  const auto longest = std::size_t(chunk_bytes.get());
  if (half_of(message_bytes) <= longest) return kHalves;
  const std::size_t fewest = message_bytes / Transfer::kChunksMax + 1;
  return unsigned(std::bit_width(std::max(longest, fewest) - 1));
}

Chunks Chunks::of(std::size_t message_bytes, unsigned chunking) noexcept {
  const std::size_t bytes = chunking == kHalves ? half_of(message_bytes) : std::size_t{1} << chunking;
  return {bytes, std::uint32_t((message_bytes + bytes - 1) / bytes)};
}

/// The receive of an offer is known.
void SharedCopy::meet(const CopyProgress& receiver) noexcept {
  DUNLIN_ASSERT(side_ == CopySide::sender && !is_met_);
  is_met_ = true;
  const TransferBuffer& buffer = transfer_->buffer();
  bytes_ = std::min<std::uint64_t>(from_.bytes, buffer.bytes);
  const RemoteBuffer theirs{buffer.address, bytes_, buffer.layout};
  if (receiver.is_writable && theirs.layout != 0)
    unread_ = theirs;
  else if (receiver.is_writable)
    theirs_ = peer_->layouts.map(*peer_->memory, theirs);
  is_alone_ = !receiver.can_copy;
  if (!theirs_ && unread_.layout == 0 && is_alone_) spoil();
}

/// To be called with a chunk claimed: a receiver that has all its data may free its type, but it cannot have
/// all before this chunk is counted.
bool SharedCopy::try_read_layout() noexcept {
  theirs_ = peer_->layouts.map(*peer_->memory, unread_);
  unread_ = {};
  return bool(theirs_);
}

/// Nobody can copy: the receiver hears it from chunks that are counted and not to be trusted.
void SharedCopy::spoil() noexcept {
  is_spoilt_ = true;
  std::uint32_t taken = 0;
  while (const std::uint32_t more = transfer_->try_claim(side_, use_, chunks_.count, chunks_.count).count)
    taken += more;
  count(taken);
}

/// Copies one chunk, or all that are free; false when this side has nothing to copy.
bool SharedCopy::try_copy(bool takes_all) noexcept {
  if (!theirs_ && unread_.layout == 0) return false;
  const ClaimedChunks chunks =
      transfer_->try_claim(side_, use_, chunks_.count, takes_all ? chunks_.count : 1);
  if (chunks.count == 0) return false;
  if (!theirs_ && !try_read_layout()) {
    is_spoilt_ = true;
    if (is_alone_) spoil();
    count(chunks.count);
    return true;
  }
  const bool is_last = !next_;  // the list changes while the lock is given up
  const int levels = BigLock::is_needed() ? BigLock::release_all() : 0;
  copy(chunks, is_last);
  if (levels > 0) BigLock::reacquire(levels);
  if (!peer_->memory->is_still_valid(theirs_.mapping)) is_spoilt_ = true;
  count(chunks.count);
  return true;
}

/// `is_last`: no other message is to be received, which would go first.
void SharedCopy::copy(const ClaimedChunks& chunks, bool is_last) noexcept {
  const std::size_t begin = std::min(chunks.first * chunks_.bytes, bytes_);
  const std::size_t end = std::min((chunks.first + chunks.count) * chunks_.bytes, bytes_);
  if (begin == end) return;
  const Source from = side_ == CopySide::sender ? from_ : theirs_.source();
  const Target to = side_ == CopySide::sender ? theirs_.target() : to_;
  if (!from.is_contiguous() || !to.is_contiguous()) return copy_range(from, to, begin, end - begin);
  if (side_ == CopySide::sender) copy::load_before_stores(to.address + begin, end - begin);
  copy::bytes(to.address + begin, from.address + begin, end - begin, copy::hint_for(bytes_));
  if (side_ == CopySide::receiver && is_last && theirs_.mapping.may_take_over() && takes_over())
    copy::take_over(from.address + begin, end - begin);
}

void SharedCopy::count(std::uint32_t chunks) noexcept {
  copied_ += chunks;
  DUNLIN_ASSERT(copied_ <= chunks_.count);
  transfer_->count(side_, progress());
  // The other one may sleep: all is there, or the next chunk is left to it.
  peer_->shm->wake();
}

CopyProgress SharedCopy::progress() const noexcept {
  return {use_, std::uint16_t(copied_), is_spoilt_, is_writable_, bool(theirs_)};
}

/// Whether all chunks are counted.
bool SharedCopy::is_done() const noexcept {
  const CopyProgress peer = transfer_->progress(other(side_));
  // A newer use: the sender saw all counted, and went on.
  if (peer.use != use_) return side_ == CopySide::receiver;
  return peer.chunks + copied_ == chunks_.count;
}

bool SharedCopy::takes_over() const noexcept { return copy::takes_over(bytes_, peer_->shm->is_far()); }

std::span<const std::byte> SharedCopy::lines_to_take_over() const noexcept {
  if (next_ || !to_.is_contiguous() || !takes_over()) return {};
  const std::size_t begin = std::min(copied_ * chunks_.bytes, bytes_);
  return {to_.address + begin, bytes_ - begin};
}

/// A sender's, whose receiver has all: the part that it has read.
void SharedCopy::take_back_later() noexcept {
  if (from_.is_contiguous())
    peer_->shm->take_back_later(
        std::span(from_.address, std::min((chunks_.count - copied_) * chunks_.bytes, bytes_)));
}

/// Whether one of the sides copied to or from memory that had changed its backing.
bool SharedCopy::is_spoilt() const noexcept {
  const CopyProgress peer = transfer_->progress(other(side_));
  return is_spoilt_ || (peer.use == use_ && peer.is_spoilt);
}

bool SharedCopy::waits_for_peer() noexcept {
  if (!is_met_ || has_free_chunks() || is_done()) {
    waits_since_ns_ = 0;
    return false;
  }
  const std::int64_t now = os::now_ns();
  if (waits_since_ns_ == 0) waits_since_ns_ = now;
  return now - waits_since_ns_ > 1'000'000'000;
}

SharedCopies::~SharedCopies() {
  for (SharedCopy* each : unused_) delete each;
}

SharedCopy& SharedCopies::make(Request& request, Peer& peer) noexcept {
  if (unused_.empty()) unused_.push_back(new SharedCopy);
  SharedCopy& copy = *unused_.back();
  unused_.pop_back();
  copy = SharedCopy{};
  copy.request_ = &request;
  copy.peer_ = &peer;
  ++count_;
  idle_rounds_ = 0;
  return copy;
}

SharedCopies::List& SharedCopies::list_of(const SharedCopy& copy) noexcept {
  return !copy.is_met_ ? offers_ : copy.side_ == CopySide::receiver ? receives_ : sends_;
}

void SharedCopies::append(SharedCopy& copy) noexcept {
  List& list = list_of(copy);
  copy.previous_ = list.last;
  copy.next_ = nullptr;
  (list.last ? list.last->next_ : list.first) = &copy;
  list.last = &copy;
}

void SharedCopies::remove(SharedCopy& copy) noexcept {
  List& list = list_of(copy);
  (copy.previous_ ? copy.previous_->next_ : list.first) = copy.next_;
  (copy.next_ ? copy.next_->previous_ : list.last) = copy.previous_;
  if (next_look_ == &copy) next_look_ = copy.next_;
}

SharedCopy* SharedCopies::open(Request& request, Peer& peer, const Source& data, unsigned chunking,
                               std::byte* transfers) noexcept {
  if (uses_.empty()) {
    uses_.resize(kTransfers);
    for (std::uint32_t i = kTransfers; i > 0; --i) free_transfers_.push_back(i - 1);
  }
  if (free_transfers_.empty()) return nullptr;
  SharedCopy& copy = make(request, peer);
  copy.side_ = CopySide::sender;
  copy.index_ = free_transfers_.back();
  free_transfers_.pop_back();
  copy.use_ = ++uses_[copy.index_];
  copy.transfer_ = reinterpret_cast<Transfer*>(transfers) + copy.index_;
  copy.bytes_ = data.bytes;
  copy.chunks_ = Chunks::of(data.bytes, chunking);
  copy.from_ = data;
  copy.transfer_->begin(copy.use_);
  append(copy);
  last_sent_ = &copy;
  return &copy;
}

SharedCopy& SharedCopies::join(Request& request, Peer& peer, const Target& data, std::size_t bytes_wanted,
                               std::size_t bytes_offered, unsigned chunking, std::byte* transfers,
                               std::uint64_t handle, MappedBuffer theirs, const TransferBuffer& own,
                               bool is_writable) noexcept {
  SharedCopy& copy = make(request, peer);
  copy.side_ = CopySide::receiver;
  copy.index_ = std::uint32_t(handle);
  copy.use_ = std::uint32_t(handle >> 32);
  DUNLIN_ASSERT(copy.index_ < kTransfers);
  copy.transfer_ = reinterpret_cast<Transfer*>(transfers) + copy.index_;
  copy.bytes_ = bytes_wanted;
  copy.chunks_ = Chunks::of(bytes_offered, chunking);
  copy.to_ = data;
  copy.theirs_ = std::move(theirs);
  copy.is_writable_ = is_writable;
  copy.is_alone_ = !is_writable;
  copy.is_met_ = true;
  append(copy);
  copy.transfer_->meet(copy.progress(), own);
  peer.shm->wake();  // the sender may sleep: it helps, and this side perhaps computes
  return copy;
}

void SharedCopies::close(SharedCopy& copy) noexcept {
  remove(copy);
  if (copy.side_ == CopySide::sender) free_transfers_.push_back(copy.index_);
  if (last_sent_ == &copy) last_sent_ = nullptr;
  copy.theirs_ = {};
  unused_.push_back(&copy);
}

/// Whether a peer is to copy something of ours, and has not taken it all.
bool SharedCopies::has_sends_to_copy() const noexcept { return last_sent_ && last_sent_->has_free_chunks(); }

/// Whether the offer has met its receive; then it is a copy.
void SharedCopies::look_at(SharedCopy& offer) noexcept {
  const CopyProgress receiver = offer.transfer_->progress(CopySide::receiver);
  if (receiver.use != offer.use_) return;
  remove(offer);
  offer.meet(receiver);
  append(offer);
}

/// The oldest offer, which is mostly received first, and one more in turn: a thousand that nobody receives
/// yet slow no message.
void SharedCopies::look_at_offers() noexcept {
  if (offers_.first) look_at(*offers_.first);
  if (!next_look_ && offers_.first) next_look_ = offers_.first->next_;
  if (SharedCopy* const each = next_look_) {
    next_look_ = each->next_;
    look_at(*each);
  }
}

SharedCopies::Round SharedCopies::advance(bool has_receives) noexcept {
  look_at_offers();
  Round round = walk(receives_, true);
  if (round.has_moved) {
    idle_rounds_ = 0;
    return round;
  }
  round = walk(sends_, !has_receives || idle_rounds_ >= int(help_polls.get()));
  if (!round.has_moved) ++idle_rounds_;  // what has begun to help goes on
  return round;
}

void SharedCopies::lose_patience() noexcept {
  idle_rounds_ = std::max(idle_rounds_, int(help_polls.get()));
  for (SharedCopy *each = offers_.first, *next; each; each = next) {
    next = each->next_;
    look_at(*each);
  }
}

SharedCopies::Round SharedCopies::walk(List& list, bool may_copy) noexcept {
  for (SharedCopy* each = list.first; each; each = each->next_) {
    // In an exchange the peer is as busy as this rank: then each takes the whole of what it receives.
    const bool takes_all =
        each->side_ == CopySide::receiver && each->chunks_.count <= 2 && has_sends_to_copy();
    const bool has_copied = (may_copy || each->is_alone_) && each->try_copy(takes_all);
    if (each->is_done()) {
      const bool is_spoilt = each->is_spoilt();
      if (each->side_ == CopySide::sender) each->take_back_later();
      if (!is_spoilt || each->side_ == CopySide::receiver) return {true, each, is_spoilt};
      // A sender whose copy is spoilt keeps the transfer until the receiver asks for the data.
    }
    if (has_copied) return {.has_moved = true};
  }
  return {};
}

}  // namespace dunlin::protocol
