// One collective operation on a simulated world, against results computed from all ranks' inputs.
//
// A case draws its shape (counts, types, layouts, root, in place) from dice, so that a seed names it; ranks
// then start it by `start` in any of three modes, and `check` compares every value and every gap.
#pragma once

#include <functional>
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
  Case(const Comms& comms, std::uint64_t seed) : comms_(comms), dice_(seed) {
    base_ = coin() ? 0 : int(roll(kBases));
    step_ = base_of(base_).values > 1 ? base_of(base_).values : coin() ? 2 : 1;
  }
  virtual ~Case() = default;
  virtual const char* name() const = 0;
  /// Fresh inputs; called before every round.
  virtual void fill(int round) = 0;
  /// Starts (nonblocking), prepares (persistent) or does (blocking) this rank's part.
  virtual Err start(int rank, Mode mode, Request** request) = 0;
  virtual void check() = 0;
  /// Every buffer and whose it is.
  using SeeBuffer = std::function<void(int rank, const Buffer& buffer)>;
  virtual void each_buffer(const SeeBuffer& see) const = 0;

 protected:
  int size() const { return int(comms_.size()); }
  Comm& comm(int rank) { return *comms_[std::size_t(rank)]; }
  std::int64_t roll(std::int64_t below) { return std::int64_t(dice_() % std::uint64_t(below)); }
  bool coin() { return dice_() % 2; }
  Layout any_layout() { return layout_of(step_ == 2 ? int(roll(3)) : 2 * int(roll(2)), base_); }
  /// Fewer than so many values, whole elements in every layout.
  std::int64_t any_values_below(std::int64_t below) { return step_ * roll((below + step_ - 1) / step_); }
  /// Mostly few values, sometimes none, sometimes many; few ranks have some that are longer than a room.
  std::int64_t any_values() {
    const auto kind = roll(10);
    if (kind == 9 && size() <= 6 && roll(4) == 0) return any_values_below(20'000);
    return kind == 0 ? 0 : any_values_below(kind < 8 ? 40 : base_of(base_).width < 8 ? 5000 : 3000);
  }
  /// The value at `index` of `rank`'s input, as far as a value of the case has room for it.
  std::int64_t input(int rank, std::int64_t index, int round) const {
    return narrow((rank + 1) * 1'000'003 + index * 7919 + round * 104'729);
  }
  std::int64_t narrow(std::int64_t value) const { return Buffer::narrow(value, base_of(base_).width); }
  static void see_all(const SeeBuffer& see, const std::vector<Buffer>& by_rank) {
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) see(int(rank), by_rank[rank]);
  }

  const Comms& comms_;
  std::mt19937_64 dice_;
  int base_;           // number of the type that elements are made of
  std::int64_t step_;  // all numbers of values are multiples of it
};

/// Every rank's neighbors, and which block of its source each of its blocks is.
struct Neighbors {
  std::vector<std::vector<int>> sources, destinations, numbers;  // by rank
};

// The families, each in a file of its own: so many kinds, and one of a kind.
inline constexpr int kMovementKinds = 11, kReductionKinds = 6, kNeighborKinds = 5;
std::unique_ptr<Case> make_movement(int kind, const Comms& comms, std::uint64_t seed);
std::unique_ptr<Case> make_reduction(int kind, const Comms& comms, std::uint64_t seed);
/// `comms` have the topology.
std::unique_ptr<Case> make_neighbor(int kind, const Comms& comms, const Neighbors& neighbors,
                                    std::uint64_t seed);

}  // namespace dunlin::test
