// How far the two ends of a ring of frames are: which slot is written next, which was filled, which may be
// filled again.  Numbers only; the bytes are moved by channel.cpp.
//
// The ring lies in the receiver's memory.  The sender counts what it wrote, the receiver what it read, and
// tells the sender now and then.  Slots may fill in any order, since a network may complete writes in any
// order; they are read in order.  Document: RDMA channel (rows R2 and R3 of docs/sources.md).  Thread safety:
// base/big_lock.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "base/assert.hpp"

namespace dunlin::transport::ofi {

/// The sender's end.
class RingWriter {
 public:
  explicit RingWriter(std::uint32_t slots = 0) noexcept : slots_(slots) {}
  bool has_room() const noexcept { return written_ - released_ < slots_; }
  std::uint32_t next_slot() const noexcept { return std::uint32_t(written_ % slots_); }
  void wrote() noexcept {
    DUNLIN_ASSERT(has_room());
    ++written_;
  }
  std::uint64_t written() const noexcept { return written_; }
  std::uint64_t released() const noexcept { return released_; }
  /// The receiver has read so many frames, modulo 2^32.  Old news are none.
  void heard_released(std::uint32_t released) noexcept {
    const std::uint64_t more = std::uint32_t(released - std::uint32_t(released_));
    if (more <= written_ - released_) released_ += more;
  }

 private:
  std::uint32_t slots_;
  std::uint64_t written_ = 0, released_ = 0;
};

/// The receiver's end.
class RingReader {
 public:
  explicit RingReader(std::uint32_t slots = 0) noexcept : is_filled_(slots, false) {}
  bool is_open() const noexcept { return !is_filled_.empty(); }
  void filled(std::uint32_t slot) noexcept {
    DUNLIN_ASSERT(slot < is_filled_.size());
    is_filled_[slot] = true;
  }
  /// All frames below the sender's count have come.
  void filled_until(std::uint64_t written) noexcept {
    DUNLIN_ASSERT(written - read_ <= is_filled_.size());
    for (std::uint64_t each = read_; each < written; ++each) is_filled_[each % is_filled_.size()] = true;
  }
  bool has_next() const noexcept { return is_filled_[next_slot()]; }
  std::uint32_t next_slot() const noexcept { return std::uint32_t(read_ % is_filled_.size()); }
  void read_next() noexcept {
    DUNLIN_ASSERT(has_next());
    is_filled_[next_slot()] = false;
    ++read_;
  }
  std::uint64_t read() const noexcept { return read_; }
  /// What the sender does not know yet.
  std::uint64_t unreported() const noexcept { return read_ - reported_; }
  void report() noexcept { reported_ = read_; }

 private:
  std::vector<bool> is_filled_;
  std::uint64_t read_ = 0, reported_ = 0;
};

}  // namespace dunlin::transport::ofi
