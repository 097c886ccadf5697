// How much of its bulk ring a pair uses: the share that it has of all that its process sends by such rings.
//
// So the rings to many peers together take about as much memory as the ring to one alone, and stay in the
// caches that are large enough for that.  A ring begins with a sixteenth and doubles at most, so that a pair
// that has not much to say touches few pages, each of which costs both sides a fault.  8 ranks on 2 VCPUs of
// an AMD Zen 3 (512 KiB of second-level cache, rings of 1 MiB) that exchange 1, 4 and 8 KiB with each other:
// 63, 46 and 68 us by whole rings, 28, 38 and 51 by 64 KiB of each.
//
// Called by ring.hpp.  Thread safety: of one writer; `sent_by_all` is of its process.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dunlin::transport::shm {

class Lap {
 public:
  Lap() = default;  // of no ring
  Lap(std::uint64_t ring_bytes, std::uint64_t& sent_by_all) noexcept
      : ring_bytes_(ring_bytes),
        bytes_(ring_bytes / 16),
        sent_by_all_(&sent_by_all),
        sent_before_(sent_by_all) {}

  /// Where the next lap begins, if there is room for it.
  std::uint64_t bytes() const noexcept { return bytes_; }
  void count(std::uint64_t bytes) noexcept { *sent_by_all_ += bytes; }
  /// Behind one of `own` bytes.
  void begin_next(std::uint64_t own) noexcept {
    const std::uint64_t all = *sent_by_all_ - sent_before_;
    bytes_ = std::clamp(ring_bytes_ * own / all, ring_bytes_ / 16, std::min(2 * bytes_, ring_bytes_));
    sent_before_ = *sent_by_all_;
  }

 private:
  std::uint64_t ring_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t* sent_by_all_ = nullptr;
  std::uint64_t sent_before_ = 0;  // when this lap began
};

}  // namespace dunlin::transport::shm
