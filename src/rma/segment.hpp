// What the ranks of a window share: a memfd with one block of words a rank (locks), lines for each
// two of them (signals) and the memory that MPI_Win_allocate and MPI_Win_allocate_shared hand out.
//
// Made by rma/create.cpp, one a window.  It is no part of the heap: a fork never freezes it, and a child does
// not have it (docs/windows.md, "Fork").
// Scale: the ranks of a window are those of one node; 2.5 KiB a rank, address space for all their memory in
// each, and 256 bytes for each ordered pair of them, of which only pages in use cost memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/err.hpp"
#include "object/comm.hpp"
#include "rma/locks.hpp"
#include "rma/signals.hpp"

namespace dunlin::rma {

/// Locks for the elements of a rank's memory, one for all that begin in one of these stripes of the window.
/// In stripes of 4 KiB a long accumulate of doubles spent 6 % of its time on their locks, of 16 KiB 3 %.
struct ElementLocks {
  static constexpr std::uint64_t kStripeBytes = 65536;
  static constexpr std::size_t kLocks = 32;
  ShortLock locks[kLocks];

  /// Of an element so many bytes from the first one of the window.
  ShortLock& of(std::uint64_t offset) noexcept { return locks[offset / kStripeBytes % kLocks]; }
};

/// What one rank of a window shares with all others.
struct RankBlock {
  alignas(64) FairLock lock;              // of its memory: MPI_Win_lock.  Written by whoever locks
  std::atomic<std::int32_t> process = 0;  // its pid, written by it once: the dead are found by it
  alignas(64) ElementLocks elements;  // for accumulates in its memory that the processor cannot do alone
};
static_assert(sizeof(RankBlock) % 64 == 0);

class Segment {
 public:
  Segment() = default;
  ~Segment();
  Segment(const Segment&) = delete;

  /// Collective over `comm`: every rank asks for `bytes` of memory that reads as zero, which begins at a
  /// multiple of a page, or right behind the rank before it where `is_packed`.  The outcome is the same on
  /// all ranks.
  Err open(Comm& comm, std::int64_t bytes, bool is_packed) noexcept;

  RankBlock& block(int rank) const noexcept { return blocks_[rank]; }
  /// Those to one rank lie side by side.
  Signals& signals(int from, int to) const noexcept {
    return signals_[std::size_t(to) * starts_.size() + std::size_t(from)];
  }
  std::byte* memory_of(int rank) const noexcept { return base_ + starts_[std::size_t(rank)]; }

 private:
  Err share(Comm& comm, int descriptor) noexcept;
  Err map(int descriptor) noexcept;

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  RankBlock* blocks_ = nullptr;
  Signals* signals_ = nullptr;
  std::vector<std::uint64_t> starts_;  // of each rank's memory
};

}  // namespace dunlin::rma
