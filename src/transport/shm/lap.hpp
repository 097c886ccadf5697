// How much of its bulk ring a pair uses: of what all rings of its process may fill, the share that it has of
// all that is sent by them.
//
// So many rings together stay in the caches, as a few do, and where ranks share a CPU those of all of them.
// A ring begins with a sixteenth and grows by a quarter a lap at most: a pair that has not much to say
// touches few pages, each of which costs both sides a fault.  8 ranks on 2 VCPUs of an AMD Zen 3 (512 KiB of
// second-level cache, rings of 1 MiB) that exchange 1, 4 and 8 KiB with each other: 61, 52 and 74 us by whole
// rings, 33, 43 and 58 so, as long as each rank counted all of that cache as its own; since it counts its
// part: docs/shm.md.  16 on as many of an Intel Emerald Rapids (2 MiB, rings of 256 KiB) gain nothing by less
// than whole rings.
//
// Called by ring.hpp.  Thread safety: of one writer; `AllRings` are of its process.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dunlin::transport::shm {

/// The bulk rings in which a process writes.
struct AllRings {
  std::uint64_t bytes_max;  // that they may fill together
  std::uint64_t sent = 0;   // bytes
};

class Lap {
 public:
  Lap() = default;  // of no ring
  Lap(std::uint64_t ring_bytes, AllRings& all) noexcept
      : ring_bytes_(ring_bytes), bytes_(ring_bytes / 16), all_(&all), sent_before_(all.sent) {}

  /// Where the next lap begins, if there is room for it.
  std::uint64_t bytes() const noexcept { return bytes_; }
  void count(std::uint64_t bytes) noexcept { all_->sent += bytes; }
  /// Behind one of `own` bytes.
  void begin_next(std::uint64_t own) noexcept {
    const std::uint64_t share = all_->bytes_max * own / (all_->sent - sent_before_);
    bytes_ = std::clamp(share, ring_bytes_ / 16, std::min(bytes_ + bytes_ / 4, ring_bytes_));
    sent_before_ = all_->sent;
  }

 private:
  std::uint64_t ring_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  AllRings* all_ = nullptr;
  std::uint64_t sent_before_ = 0;  // when this lap began
};

}  // namespace dunlin::transport::shm
