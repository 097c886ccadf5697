// Recursive algorithms want a power of two of ranks: of the first 2e ranks (e = p - 2^floor(lg p)) each even
// one gives its operand to the odd one behind it, which works for both.
//
// Neighbours fold, so that the workers stay in rank order and operands keep theirs.  Used by the recursive
// reductions.
#pragma once

#include <bit>

#include "base/assert.hpp"

namespace dunlin::coll {

struct FoldPairs {
  int workers;  // a power of two
  int extra;    // pairs

  explicit FoldPairs(int size) noexcept
      : workers(int(std::bit_floor(unsigned(size)))), extra(size - workers) {}
  bool is_folded(int rank) const noexcept { return rank < 2 * extra && rank % 2 == 0; }
  bool works_for_two(int rank) const noexcept { return rank < 2 * extra && rank % 2 == 1; }
  /// Place of a worker among the workers, and back.
  int slot(int rank) const noexcept {
    DUNLIN_ASSERT(!is_folded(rank));
    return rank < 2 * extra ? rank / 2 : rank - extra;
  }
  int rank(int slot) const noexcept {
    DUNLIN_ASSERT(slot >= 0 && slot < workers);
    return slot < extra ? 2 * slot + 1 : slot + extra;
  }
};

}  // namespace dunlin::coll
