#include "peer/peer_tables.hpp"

#include <sys/mman.h>

#include <mutex>
#include <vector>

#include "base/assert.hpp"
#include "base/variable.hpp"

namespace dunlin::peer {
namespace {

IntVariable tables_bytes_max{
    "HEAP_PEER_TABLES_BYTES_MAX", 32 << 20, "bytes",
    "most page tables that a process keeps for its peers' memory in small pages; 4 KiB of them reach 2 MiB",
    4096};

constexpr std::size_t kOpenBytes = std::size_t{8} << 20;  // opened at a time; as much as the owner does

/// A second mapping of the same pages (what an old size of 0 asks for) is moved over the first one and
/// replaces it at once, as other threads see it.  MADV_DONTNEED would empty the tables but not free them
/// before Linux 6.14.  False: no address space for a second one.
bool try_renew_mapping(std::byte* at, std::size_t bytes) noexcept {
  void* second = mremap(at, 0, bytes, MREMAP_MAYMOVE);
  if (second == MAP_FAILED) return false;
  if (mremap(second, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at) return true;
  munmap(second, bytes);
  return false;
}

}  // namespace

struct PeerTables::All {
  std::mutex lock;
  std::vector<PeerTables*> each;
  std::size_t hand = 0;   // of the clock: index into `each`
  std::size_t units = 0;  // of all
};

PeerTables::All& PeerTables::all() noexcept {
  static All one;
  return one;
}

PeerTables::PeerTables(std::byte* at, std::size_t bytes)
    : at_(at), bytes_(bytes), counted_(new std::atomic<std::uint64_t>[bytes / kUnitBytes / 64 + 1]()) {
  DUNLIN_ASSERT(bytes % kUnitBytes == 0);
  const std::lock_guard hold(all().lock);
  all().each.push_back(this);
}

void PeerTables::stop() noexcept {
  const std::lock_guard hold(all().lock);
  stop_counting();
}

void PeerTables::replace() noexcept {
  const std::lock_guard hold(all().lock);
  stop_counting();
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  if (open_bytes_) mmap(at_, open_bytes_, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (open_bytes_ < bytes_) mmap(at_ + open_bytes_, bytes_ - open_bytes_, PROT_NONE, kFlags, -1, 0);
  madvise(at_, bytes_, MADV_DONTFORK);
}

void PeerTables::stop_counting() noexcept {
  if (is_stopped_) return;
  is_stopped_ = true;
  all().units -= units_;
  units_ = 0;
  std::erase(all().each, this);
}

/// Counts those of [unit, last] that are not counted yet.
bool PeerTables::try_count(std::size_t unit, std::size_t last) noexcept {
  DUNLIN_ASSERT(unit <= last);
  DUNLIN_ASSERT(last < bytes_ / kUnitBytes);
  const std::lock_guard hold(all().lock);
  if (!try_open_until(last)) return false;
  if (is_stopped_) return true;
  make_room(last - unit + 1);
  for (; unit <= last; ++unit) {
    if (is_counted(unit)) continue;
    counted_[unit / 64].fetch_or(std::uint64_t{1} << (unit % 64), std::memory_order_relaxed);
    ++units_;
    ++all().units;
  }
  return true;
}

bool PeerTables::try_open_until(std::size_t last) noexcept {
  const std::size_t end = ((last + 1) * kUnitBytes + kOpenBytes - 1) / kOpenBytes * kOpenBytes;
  const std::size_t wanted = end < bytes_ ? end : bytes_;
  if (wanted <= open_bytes_) return true;
  if (mprotect(at_ + open_bytes_, wanted - open_bytes_, PROT_READ | PROT_WRITE) != 0) return false;
  open_bytes_ = wanted;
  return true;
}

void PeerTables::make_room(std::size_t units) noexcept {
  All& now = all();
  const std::size_t units_max = std::size_t(tables_bytes_max.get()) / kTableBytes;
  // Two rounds of the hand: the first may find that all were used lately.
  for (std::size_t turns = 2 * now.each.size(); turns > 0 && now.units + units > units_max; --turns) {
    now.hand = (now.hand + 1) % now.each.size();
    PeerTables& each = *now.each[now.hand];
    if (each.units_ > 0 && !each.is_used_.exchange(false, std::memory_order_relaxed)) each.give_back();
  }
}

void PeerTables::give_back() noexcept {
  if (!try_renew_mapping(at_, open_bytes_)) return;  // address space is limited: then the tables stay
  for (std::size_t word = 0; word <= bytes_ / kUnitBytes / 64; ++word)
    counted_[word].store(0, std::memory_order_relaxed);
  all().units -= units_;
  units_ = 0;
}

std::size_t PeerTables::units() const noexcept {
  const std::lock_guard hold(all().lock);
  return units_;
}

std::size_t PeerTables::all_bytes() noexcept {
  const std::lock_guard hold(all().lock);
  return all().units * kTableBytes;
}

}  // namespace dunlin::peer
