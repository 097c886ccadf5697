#include "protocol/shared_transfer.hpp"

#include <sched.h>

#include <mutex>
#include <new>
#include <vector>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "heap/heap.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"

namespace dunlin::protocol {
namespace {

constexpr std::size_t kPoolBytes = std::size_t{64} << 10;
constexpr int kPollsBeforeYield = 2000;
constexpr int kPollsForSender = 100;  // 1 to 3 us: how long a sender that waits may need to notice
constexpr int kReportSeconds = 10;
// Up to this multiple of copy::shared_bytes_min a sender that is to copy for itself is left alone: exchanges
// of 64 KiB, off cache, between distant cores 36 instead of 21 GB/s, of 128 KiB 42 instead of 30 (AMD Zen 5;
// near 24 and 24, 25 and 27; 256 KiB level).
constexpr std::size_t kBusyMultiple = 2;

/// Free transfers of this process, in blocks of the shared heap that are never given back.
struct Pool {
  std::mutex lock;
  std::vector<SharedTransfer*> free;
};
Pool& pool() noexcept {
  static Pool made;
  return made;
}

/// More free transfers; false when the shared heap does not work or is full.
bool grow(Pool& pool) noexcept {
  void* block = heap::allocate(kPoolBytes, alignof(SharedTransfer));
  if (!block) return false;
  if (!heap::is_shared(block, kPoolBytes)) {
    heap::release(block);
    return false;
  }
  auto* transfers = static_cast<SharedTransfer*>(block);
  for (std::size_t i = 0; i < kPoolBytes / sizeof(SharedTransfer); ++i) pool.free.push_back(transfers + i);
  return true;
}

}  // namespace

SharedTransfer* open_transfer(const void* from, std::size_t bytes) noexcept {
  if (copy::shared_chunk_bytes(bytes) == 0 || !heap::is_shared(from, bytes)) return nullptr;
  Pool& all = pool();
  const std::lock_guard hold(all.lock);
  while (true) {
    if (all.free.empty() && !grow(all)) return nullptr;
    SharedTransfer* transfer = all.free.back();
    all.free.pop_back();
    if (heap::is_shared(transfer, sizeof *transfer)) return new (transfer) SharedTransfer{};
    // Frozen by a fork: peers would not see what is written to it.  It is lost.
  }
}

void close_transfer(SharedTransfer* transfer) noexcept {
  Pool& all = pool();
  const std::lock_guard hold(all.lock);
  all.free.push_back(transfer);
}

bool help_transfer(SharedTransfer& transfer, peer::PeerMemory& receiver, const std::byte* from) noexcept {
  // T1 (pairs with T2 in try_receive_shared): bytes and chunk_bytes are there once `to` is.
  const std::uint64_t to = transfer.to.load(std::memory_order_acquire);
  if (to == 0) [[likely]]
    return false;
  const auto chunks = std::uint32_t((transfer.bytes + transfer.chunk_bytes - 1) / transfer.chunk_bytes);
  if (transfer.copy.claimed.load(std::memory_order_relaxed) >= chunks) return false;
  const peer::Mapping mapping = receiver.map(to, transfer.bytes);
  if (!mapping) return false;
  const std::uint32_t copied =
      transfer.copy.copy_chunks(mapping.at, from, transfer.bytes, transfer.chunk_bytes,
                                copy::SharedCopy::Side::back, hint_of(transfer.way));
  // Relaxed: the release of `count` publishes it.
  if (!receiver.is_still_valid(mapping)) transfer.is_spoilt.store(1, std::memory_order_relaxed);
  transfer.copy.count(copied);
  return copied > 0;
}

namespace {

/// The receiver's side of one transfer.
class Receiving {
 public:
  Receiving(SharedTransfer& transfer, std::byte* to, const std::byte* from, std::size_t bytes,
            std::size_t chunk_bytes) noexcept
      : transfer_(transfer), to_(to), from_(from), bytes_(bytes), chunk_bytes_(chunk_bytes) {}

  /// The sender may begin.
  void publish(ShareWay way) noexcept {
    transfer_.bytes = bytes_;
    transfer_.chunk_bytes = std::uint32_t(chunk_bytes_);
    transfer_.way = way;
    // T2 (pairs with T1).
    transfer_.to.store(reinterpret_cast<std::uintptr_t>(to_), std::memory_order_release);
  }
  /// Takes chunks until none is left.
  void copy(copy::Hint hint) noexcept {
    has_copied_ = true;
    transfer_.copy.count(
        transfer_.copy.copy_chunks(to_, from_, bytes_, chunk_bytes_, copy::SharedCopy::Side::front, hint));
  }
  bool is_done() const noexcept { return transfer_.copy.is_done(bytes_, chunk_bytes_); }

  /// Until all is copied; false when the sender forked meanwhile: its last count may have gone to a page that
  /// we no longer share.
  bool await_sender(const peer::PeerMemory& sender, const peer::Mapping& state,
                    WhileWaiting meanwhile) noexcept {
    std::uint32_t claimed = 0;
    for (int polls = 0; !is_done(); ++polls) {
      if (!sender.is_still_valid(state)) return false;
      // Relaxed: only how far the sender is.
      const std::uint32_t now = transfer_.copy.claimed.load(std::memory_order_relaxed);
      if (now != claimed) polls = 0, claimed = now;
      if (!has_copied_ && polls > (claimed ? kPollsBeforeYield : kPollsForSender)) copy(copy::Hint::cached);
      if (!has_copied_) meanwhile.work(meanwhile.argument);
      if (polls < kPollsBeforeYield)
        os::pause();
      else
        give_core_away();
    }
    return true;
  }

 private:
  void give_core_away() noexcept {
    sched_yield();
    const std::int64_t now = os::now_ns();
    if (waits_since_ns_ == 0) waits_since_ns_ = now;
    if (has_reported_ || now - waits_since_ns_ < kReportSeconds * std::int64_t{1'000'000'000}) return;
    has_reported_ = true;
    log::warn("a sender has been copying %zu bytes of a large message for %d s; is it stopped or dead?",
              chunk_bytes_, kReportSeconds);
  }

  SharedTransfer& transfer_;
  std::byte* to_;
  const std::byte* from_;
  std::size_t bytes_;
  std::size_t chunk_bytes_;
  bool has_copied_ = false;  // this side has taken all chunks it could get
  std::int64_t waits_since_ns_ = 0;
  bool has_reported_ = false;
};

}  // namespace

SharedReceive try_receive_shared(peer::PeerMemory& sender, std::uint64_t at, std::uint64_t from,
                                 std::byte* to, std::size_t bytes, SourceHistory& history, ReceiveHints hints,
                                 WhileWaiting meanwhile) noexcept {
  const std::size_t chunk_bytes = copy::shared_chunk_bytes(bytes);
  if (at == 0 || chunk_bytes == 0) return SharedReceive::declined;
  const peer::Mapping state = sender.map(at, sizeof(SharedTransfer));
  const peer::Mapping source = sender.map(from, bytes);
  if (!state || !source) return SharedReceive::declined;
  auto& transfer = *reinterpret_cast<SharedTransfer*>(state.at);
  Receiving receiving(transfer, to, source.at, bytes, chunk_bytes);
  const bool is_shared_here = heap::is_shared(to, bytes);
  ShareWay way = history.choose(from, bytes, source.at, hints.is_asked);
  if (!is_shared_here && way == ShareWay::sender) way = ShareWay::both;
  const bool is_left_alone = way != ShareWay::sender && hints.is_sender_busy &&
                             bytes <= kBusyMultiple * copy::shared_bytes_min();
  const bool can_be_helped = is_shared_here && !is_left_alone;
  // A look takes time in which the sender may begin.  Where both copy it must not: it could take the lines
  // that the next look expects here.
  if (way != ShareWay::sender) history.learn(from, bytes, source.at, hints.is_asked);
  if (way == ShareWay::channel) return SharedReceive::through_channel;
  if (!can_be_helped) {
    copy::bytes(to, source.at, bytes, hint_of(way));
    return sender.is_still_valid(source) ? SharedReceive::arrived : SharedReceive::declined;
  }
  receiving.publish(way);
  if (way == ShareWay::sender)
    history.learn(from, bytes, source.at, hints.is_asked);
  else
    receiving.copy(hint_of(way));
  if (!receiving.await_sender(sender, state, meanwhile)) return SharedReceive::through_channel;
  const bool is_source_valid = sender.is_still_valid(source);
  if (is_source_valid && transfer.is_spoilt.load(std::memory_order_relaxed) == 0)
    return SharedReceive::arrived;
  // Where only our own memory changed its backing, every write has been counted and no more will come.
  return is_source_valid ? SharedReceive::declined : SharedReceive::through_channel;
}

}  // namespace dunlin::protocol
