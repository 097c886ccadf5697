// Whether a line from a peer's cache comes about as slowly as one from memory (no less than three quarters of
// its time): the one property of a pair that changes how data had better move.  Where it does (two caches on
// different dies, or sockets), a sender that stores around the caches is faster than one that leaves lines in
// its own, and than a receiver that loads what was just written.
//
// It is found by comparing on the spot: who loads a line that the peer has just stored now and then times
// that, against the load of a line of its own that was flushed to memory.  Three looks one way or the other
// decide; no time is written down.  The writer of a ring loads the line in which the reader has returned
// room, a member of a direct collective the line that another has stamped for it (coll/shared_work.hpp).
//
// Only where a line that a peer has read stays owned by who wrote it (AMD, os/cpu.hpp).  On 2 VCPUs of an
// Intel Emerald Rapids a peer's line and one from memory take as long, too (80 to 105 ns), and yet stores
// around the caches halve streams of 1 to 8 KiB (10.3 to 5.2 GB/s at 4 KiB); a half round trip of 1 KiB takes
// .72 us for .55, of 8 KiB 1.64 for 1.85.  docs/memory.md, "Near and far".
//
// Thread safety: none; base/big_lock.hpp.  Cost: about .4 us a look, at most once in the eight times that a
// ring has run out of room, or in 64 direct collectives.
#pragma once

#include <cstdint>

namespace dunlin::transport::shm {

class Distance {
 public:
  Distance() noexcept;

  bool is_far() const noexcept { return votes_ > 0; }
  /// It is known, and never measured.
  void set(bool is_far) noexcept {
    votes_ = is_far ? kSure : -kSure;
    looks_left_out_ = kAll;
  }

  /// Around the load of a line that the peer has stored, if `is_new`, since it was loaded last.
  std::uint64_t before_load() const noexcept { return looks_left_out_ == 0 ? now() : 0; }
  void after_load(std::uint64_t before, bool is_new) noexcept {
    if (!is_new) return;
    if (looks_left_out_ > 0)
      looks_left_out_ -= looks_left_out_ != kAll;
    else
      compare(now() - before);
  }

 private:
  static constexpr int kSure = 3;
  static constexpr int kLooksLeftOut = 7;  // once it is sure; ranks move to other CPUs
  static constexpr int kAll = 1 << 30;     // a setting says it

  static std::uint64_t now() noexcept;
  void compare(std::uint64_t of_peer) noexcept;

  int votes_ = 0;  // for far; at most kSure either way
  int looks_left_out_ = 0;
};

}  // namespace dunlin::transport::shm
