// One collective operation on a simulated world, against results computed from all ranks' inputs.
//
// A case draws its shape (counts, layouts, root, in place) from dice, so that a seed names it; ranks then
// start it by `start` in any of three modes, and `check` compares every value and every gap.
#pragma once

#include <memory>
#include <random>
#include <string>

#include "coll/functions.hpp"
#include "test/simulate/buffer.hpp"
#include "test/simulate/world.hpp"

namespace dunlin::test {

enum class Mode { blocking, nonblocking, persistent };

using Comms = std::vector<Ref<Comm>>;

class Case {
 public:
  Case(const Comms& comms, std::uint64_t seed) : comms_(comms), dice_(seed) {}
  virtual ~Case() = default;
  virtual const char* name() const = 0;
  /// Fresh inputs; called before every round.
  virtual void fill(int round) = 0;
  /// Starts (nonblocking), prepares (persistent) or does (blocking) this rank's part.
  virtual Err start(int rank, Mode mode, Request** request) = 0;
  virtual void check() = 0;

 protected:
  int size() const { return int(comms_.size()); }
  Comm& comm(int rank) { return *comms_[std::size_t(rank)]; }
  std::int64_t roll(std::int64_t below) { return std::int64_t(dice_() % std::uint64_t(below)); }
  bool coin() { return dice_() % 2; }
  Layout any_layout() { return layout_of(int(roll(3))); }
  /// Mostly few values, sometimes none, sometimes many; even, so that it is whole elements in every layout.
  std::int64_t any_values() {
    const auto kind = roll(10);
    return kind == 0 ? 0 : kind < 8 ? 2 * roll(20) : 2 * roll(1500);
  }
  /// The value at `index` of `rank`'s input.
  static std::int64_t input(int rank, std::int64_t index, int round) {
    return (rank + 1) * 1'000'003 + index * 7919 + round * 104'729;
  }

  const Comms& comms_;
  std::mt19937_64 dice_;
};

// The families, each in a file of its own: so many kinds, and one of a kind.
inline constexpr int kMovementKinds = 11, kReductionKinds = 6;
std::unique_ptr<Case> make_movement(int kind, const Comms& comms, std::uint64_t seed);
std::unique_ptr<Case> make_reduction(int kind, const Comms& comms, std::uint64_t seed);

}  // namespace dunlin::test
