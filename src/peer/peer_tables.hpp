// How much of its peers' memory this process can touch now, what its page tables for that may cost, and how
// they stay under it.
//
// Used by shared_heap_provider.cpp for every file of a peer that it maps.  docs/memory.md, "Cost of scale".
//
// The kernel makes 4 KiB of page tables for every aligned 2 MiB that is touched through small pages, and
// frees them only when the range is unmapped: 127 peers with 4 GiB each would cost a process 1 GiB.  So the
// units of 2 MiB that transfers may have touched are counted.  Where one more would exceed
// DUNLIN_HEAP_PEER_TABLES_BYTES_MAX, the mapping of a whole file is made anew in its place, which frees its
// tables; a transfer that goes on there takes page faults again, nothing else.  The next to be made anew is
// found by the clock algorithm (F. J. Corbato, 1968): those that were not used since the hand last came by.
//
// Units in huge pages cost 8 bytes and are counted like the others: their faults are cheap to take again.
//
// A mapping of a whole file starts inaccessible and is opened from its beginning to what transfers have
// reached: mlockall makes everything resident that can be read, and would fill the holes of the file.
//
// Thread safety: all members may be called by any thread; one lock for the process, not taken for units that
// are known.  Invariants: 1. The sum of all counts is at most the limit, but for what one call asks for.
// 2. What is touched through a pointer that was got before its file was mapped anew is not counted: at most
//    the transfers under way.
// 3. What is touched is open, and stays so until the mapping goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace dunlin::peer {

class PeerTables {
 public:
  /// Counts for a shared mapping of `bytes` at `at`, whole units of 2 MiB, which may be inaccessible.
  PeerTables(std::byte* at, std::size_t bytes);
  ~PeerTables() { stop(); }
  PeerTables(const PeerTables&) = delete;

  /// Before a transfer that touches these bytes; false: the kernel refuses them (too many mappings).
  /// hot path: a load, and one a unit.
  bool touch(std::size_t offset, std::size_t bytes) noexcept {
    // Relaxed: says only who was used lately.
    if (!is_used_.load(std::memory_order_relaxed)) [[unlikely]]
      is_used_.store(true, std::memory_order_relaxed);
    const std::size_t last = (offset + bytes - 1) / kUnitBytes;
    for (std::size_t unit = offset / kUnitBytes; unit <= last; ++unit)
      if (!is_counted(unit)) [[unlikely]]
        return try_count(unit, last);
    return true;
  }
  /// To be called before the mapping is unmapped: counts no more.
  void stop() noexcept;
  /// Lets go of the file but keeps its addresses, readable and writable as far as they were, because another
  /// thread may be in the middle of a transfer; then as `stop`.
  void replace() noexcept;

  std::size_t units() const noexcept;
  /// Of all mappings, in bytes.
  static std::size_t all_bytes() noexcept;

 private:
  static constexpr std::size_t kUnitBytes = std::size_t{2} << 20;
  static constexpr std::size_t kTableBytes = 4096;  // what one unit costs in small pages

  bool is_counted(std::size_t unit) const noexcept {
    // Relaxed: a stale bit means one unit counted late or a lock taken in vain.
    return counted_[unit / 64].load(std::memory_order_relaxed) >> (unit % 64) & 1;
  }
  bool try_count(std::size_t unit, std::size_t last) noexcept;
  bool try_open_until(std::size_t last) noexcept;
  void stop_counting() noexcept;
  void give_back() noexcept;
  static void make_room(std::size_t units) noexcept;

  struct All;
  static All& all() noexcept;

  std::byte* at_;
  std::size_t bytes_;
  std::size_t open_bytes_ = 0;  // under the lock; the open part
  std::size_t units_ = 0;       // under the lock
  bool is_stopped_ = false;     // under the lock
  std::atomic<bool> is_used_ = false;
  std::unique_ptr<std::atomic<std::uint64_t>[]> counted_;  // one bit a unit: 4 KiB for 64 GiB
};

}  // namespace dunlin::peer
