// What ranks of a node tell each other about exposures and accesses (MPI 5.0, 12.5.2): MPI_Win_post and
// MPI_Win_complete store the number of the signal in a word, MPI_Win_start and MPI_Win_wait wait for it.  A
// message would be matched, and would need a request, for nothing but the fact that it has come.
// MPI_Win_fence of two ranks does both.
//
// Lies in the window's segment (rma/segment.hpp); used by rma/active.cpp (docs/windows.md, "Epochs").
// Cost: a line written by one rank and read by another, for each of these calls and each neighbour.  Two
// lines are used in turn, so that one is ready to be written while the other is perhaps still read.
//
// Thread safety: one rank writes a line, under its base/big_lock.hpp; one other reads it.
// Invariant: a signal is given only when the other has heard the last but one of its kind, so that a line
// holds its number until that is heard.  Numbers wrap.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/cpu.hpp"

namespace dunlin::rma {

/// From one rank to another.  As a segment begins: all zero.
class Signals {
 public:
  enum Kind : std::uint8_t { post, complete, fence, kKinds };

  /// Writer.
  void give(Kind kind, std::uint32_t number) noexcept {
    word(kind, number).store(number, std::memory_order_release);  // E1 (pairs with E2): what was done before
  }
  /// Reader.
  bool has(Kind kind, std::uint32_t number) const noexcept {
    return const_cast<Signals*>(this)->word(kind, number).load(std::memory_order_acquire) == number;  // E2
  }
  /// Writer: of the next signal, when the other has heard the one before the last.
  void prepare(Kind kind, std::uint32_t number) noexcept { os::prepare_to_write(&word(kind, number)); }

 private:
  // Of an exposure and of an access, which a rank may have at once; a fence has neither.
  struct alignas(64) Line {
    std::atomic<std::uint32_t> words[kKinds];
  };
  std::atomic<std::uint32_t>& word(Kind kind, std::uint32_t number) noexcept {
    return lines_[kind == complete][number % 2].words[kind];
  }
  Line lines_[2][2];
};
static_assert(sizeof(Signals) == 256);

/// One rank of the node, as another signals to it and hears from it.
struct Signalled {
  Signals* to = nullptr;  // nullptr: it is on another node
  const Signals* from = nullptr;
  std::uint32_t given[Signals::kKinds] = {};
  std::uint32_t heard[Signals::kKinds] = {};  // those that a call has waited for

  void give(Signals::Kind kind) noexcept { to->give(kind, ++given[kind]); }
  void prepare(Signals::Kind kind) noexcept { to->prepare(kind, given[kind] + 1); }
  bool has_come(Signals::Kind kind) const noexcept { return from->has(kind, heard[kind] + 1); }
};

}  // namespace dunlin::rma
