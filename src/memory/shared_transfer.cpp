#include "memory/shared_transfer.hpp"

#include <sched.h>
#include <time.h>

#include <mutex>
#include <new>
#include <vector>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "os/cpu.hpp"

namespace dunlin::memory {
namespace {

constexpr std::size_t kPoolBytes = std::size_t{64} << 10;
constexpr int kPollsBeforeYield = 2000;
constexpr int kReportSeconds = 10;

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
  void* block = allocate(kPoolBytes, alignof(SharedTransfer));
  if (!block) return false;
  if (!is_shared(block, kPoolBytes)) {
    release(block);
    return false;
  }
  auto* transfers = static_cast<SharedTransfer*>(block);
  for (std::size_t i = 0; i < kPoolBytes / sizeof(SharedTransfer); ++i) pool.free.push_back(transfers + i);
  return true;
}

}  // namespace

SharedTransfer* open_transfer(const void* from, std::size_t bytes) noexcept {
  if (shared_copy_chunk_bytes(bytes) == 0 || !is_shared(from, bytes)) return nullptr;
  Pool& all = pool();
  const std::lock_guard hold(all.lock);
  while (true) {
    if (all.free.empty() && !grow(all)) return nullptr;
    SharedTransfer* transfer = all.free.back();
    all.free.pop_back();
    if (is_shared(transfer, sizeof *transfer)) return new (transfer) SharedTransfer{};
    // Frozen by a fork: peers would not see what is written to it.  It is lost.
  }
}

void close_transfer(SharedTransfer* transfer) noexcept {
  Pool& all = pool();
  const std::lock_guard hold(all.lock);
  all.free.push_back(transfer);
}

bool help_transfer(SharedTransfer& transfer, PeerMemory& receiver, const std::byte* from) noexcept {
  // T1 (pairs with T2 in try_receive_shared): bytes and chunk_bytes are there once `to` is.
  const std::uint64_t to = transfer.to.load(std::memory_order_acquire);
  if (to == 0) [[likely]]
    return false;
  const auto chunks = std::uint32_t((transfer.bytes + transfer.chunk_bytes - 1) / transfer.chunk_bytes);
  if (transfer.copy.claimed.load(std::memory_order_relaxed) >= chunks) return false;
  const Mapping mapping = receiver.map(to, transfer.bytes);
  if (!mapping) return false;
  const std::uint32_t copied = transfer.copy.copy_chunks(mapping.at, from, transfer.bytes,
                                                         transfer.chunk_bytes, SharedCopy::Side::back);
  // Relaxed: the release of `count` publishes it.
  if (!receiver.is_still_valid(mapping)) transfer.is_spoilt.store(1, std::memory_order_relaxed);
  transfer.copy.count(copied);
  return copied > 0;
}

namespace {

/// Waits for the chunk that the sender is copying; false when the sender forked meanwhile.
bool await_sender(const SharedTransfer& transfer, const PeerMemory& sender, const Mapping& state,
                  std::size_t bytes, std::size_t chunk_bytes) noexcept {
  timespec begin{};
  bool has_reported = false;
  for (int polls = 0; !transfer.copy.is_done(bytes, chunk_bytes); ++polls) {
    // When the sender forked, its last count may have gone to a page that we no longer share.
    if (!sender.is_still_valid(state)) return false;
    if (polls < kPollsBeforeYield) {
      os::pause();
      continue;
    }
    sched_yield();
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (begin.tv_sec == 0) begin = now;
    if (has_reported || now.tv_sec - begin.tv_sec < kReportSeconds) continue;
    has_reported = true;
    log::warn("a sender has been copying %zu bytes of a large message for %d s; is it stopped or dead?",
              chunk_bytes, kReportSeconds);
  }
  return true;
}

}  // namespace

bool try_receive_shared(PeerMemory& sender, std::uint64_t at, std::uint64_t from, std::byte* to,
                        std::size_t bytes) noexcept {
  const std::size_t chunk_bytes = shared_copy_chunk_bytes(bytes);
  if (at == 0 || chunk_bytes == 0) return false;
  const Mapping state = sender.map(at, sizeof(SharedTransfer));
  const Mapping source = sender.map(from, bytes);
  if (!state || !source) return false;
  auto& transfer = *reinterpret_cast<SharedTransfer*>(state.at);
  const bool can_be_helped = is_shared(to, bytes);
  if (can_be_helped) {
    transfer.bytes = bytes;
    transfer.chunk_bytes = std::uint32_t(chunk_bytes);
    // T2 (pairs with T1): the sender may begin.
    transfer.to.store(reinterpret_cast<std::uintptr_t>(to), std::memory_order_release);
  }
  transfer.copy.count(transfer.copy.copy_chunks(to, source.at, bytes, chunk_bytes, SharedCopy::Side::front));
  if (!await_sender(transfer, sender, state, bytes, chunk_bytes)) return false;
  const bool is_whole = transfer.is_spoilt.load(std::memory_order_relaxed) == 0;
  return is_whole && sender.is_still_valid(source);
}

}  // namespace dunlin::memory
