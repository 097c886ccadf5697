// What ranks of a node tell each other about exposures and accesses (MPI 5.0, 12.5.2): MPI_Win_post and
// MPI_Win_complete count up a word, MPI_Win_start and MPI_Win_wait wait for it.  A message would be matched,
// and would need a request, for nothing but the fact that it has come.  MPI_Win_fence of two ranks does both.
//
// Lies in the window's segment (rma/segment.hpp); used by rma/active.cpp (docs/windows.md, "Epochs").
// Cost: a line written by one rank and read by another, for each of these calls and each neighbour.  Fences
// use two in turn, so that one is ready to be written while the other is perhaps still read.
//
// Thread safety: one rank writes a line, under its base/big_lock.hpp; one other reads it.
// Invariant: a count only goes up, and wraps; the reader is never more than one exposure or fence behind for
// each that the standard lets be open, so that differences are small.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/cpu.hpp"

namespace dunlin::rma {

/// From one rank to another.  As a segment begins: all zero.
class alignas(64) Signals {
 public:
  enum Kind : std::uint8_t { post, complete, fence, odd_fence, kKinds };

  /// Writer.
  void give(Kind kind) noexcept {
    // E1 (pairs with E2): what was done to the memory before is seen behind it.  No other writes: a load and
    // a store count.
    const std::uint32_t now = count(kind).load(std::memory_order_relaxed);
    count(kind).store(now + 1, std::memory_order_release);
  }
  /// Reader: whether more than `heard` have been given.
  bool has_more(Kind kind, std::uint32_t heard) const noexcept {
    return count(kind).load(std::memory_order_acquire) != heard;  // E2
  }
  /// Writer: nobody reads it now.
  void prepare(Kind kind) noexcept { os::prepare_to_write(&count(kind)); }

 private:
  std::atomic<std::uint32_t>& count(Kind kind) noexcept { return kind == odd_fence ? odd_ : counts_[kind]; }
  const std::atomic<std::uint32_t>& count(Kind kind) const noexcept {
    return kind == odd_fence ? odd_ : counts_[kind];
  }
  std::atomic<std::uint32_t> counts_[odd_fence];
  alignas(64) std::atomic<std::uint32_t> odd_;
};
static_assert(sizeof(Signals) == 128);

/// One rank of the node, as another signals to it and hears from it.
struct Signalled {
  Signals* to = nullptr;  // nullptr: it is on another node
  const Signals* from = nullptr;
  std::uint32_t heard[Signals::kKinds] = {};  // of `from`: those that a call has waited for

  bool has_come(Signals::Kind kind) const noexcept { return from->has_more(kind, heard[kind]); }
  Signals::Kind next_fence() const noexcept {
    return heard[Signals::fence] == heard[Signals::odd_fence] ? Signals::fence : Signals::odd_fence;
  }
};

}  // namespace dunlin::rma
