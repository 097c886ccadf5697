// A node of ranks that do collectives, and a ledger of every byte that these move: from where, to where, and
// by whom.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "test/simulate/watch.hpp"
#include "test/simulate/world.hpp"

namespace dunlin::test {

/// One node.  Of the buffers that are announced, all or none can be mapped by others; nobody finds another
/// far, or each all others; the kernel copies between all, or none.
std::unique_ptr<World> make_node(int size, bool is_shared = true, bool is_far = false,
                                 bool is_read = false);

/// Messages so far, without what went by loads and stores.
std::uint64_t messages(World& world);

/// Starts a rank's part of a collective.
using Start = std::function<Err(int rank, Request** request)>;
/// By all ranks, in any order.
void do_together(World& world, const Start& start);

class Ledger final : public Watch {
 public:
  /// What a program sends, what it receives, and other memory: the rooms of a region, scratch space.
  enum Where { sent, received, elsewhere, kWheres };

  /// `are_in_step`: ranks on stacks of their own, all equally fast: whoever has moved more bytes lets the
  /// others go on.
  explicit Ledger(World& world, bool are_in_step = false);
  void add_sent(int rank, const void* at, std::size_t bytes) { add(sent, rank, at, bytes); }
  void add_received(int rank, const void* at, std::size_t bytes) { add(received, rank, at, bytes); }
  void see(const Moved& moved) override;

  /// Bytes of all copies from here to there, and of all copies.
  std::uint64_t copied(Where from, Where to) const { return copied_[from][to]; }
  std::uint64_t copied() const;
  /// Bytes that sums have loaded from there, and stored.
  std::uint64_t loaded(Where from) const { return loaded_[from]; }
  std::uint64_t stored(Where to) const { return stored_[to]; }
  /// Of what was loaded from results, to go on with it: all that was not stored as the last or as the last
  /// sum, or in strips that a first-level cache does not hold.
  std::uint64_t loaded_late() const { return loaded_late_; }
  /// What a rank has stored by copies and sums, in step.
  std::uint64_t done_by(int rank) const { return done_[std::size_t(rank)]; }

  /// A copy from one rank to another, in step: by whom, and in which time; a byte takes a unit of it.
  struct Transfer {
    int by, from, to;
    std::uint64_t begin, end;
  };
  const std::vector<Transfer>& transfers() const { return transfers_; }

 private:
  struct Owned {
    const std::byte* at;
    std::size_t bytes;
    Where where;
    int rank;
  };
  void add(Where where, int rank, const void* at, std::size_t bytes) {
    owned_.push_back({static_cast<const std::byte*>(at), bytes, where, rank});
  }
  Owned find(const void* at) const;
  void note_operand(const Moved& moved, const void* from);
  void take_time(const Moved& moved);
  int running() const;
  bool is_ahead(int rank) const;

  World& world_;
  const bool are_in_step_;
  std::vector<Owned> owned_;
  std::array<std::array<std::uint64_t, kWheres>, kWheres> copied_{};
  std::array<std::uint64_t, kWheres> loaded_{}, stored_{};
  std::uint64_t loaded_late_ = 0;
  const void* last_ = nullptr;      // stored
  const void* last_sum_ = nullptr;  // the same by a kernel
  std::size_t last_bytes_ = 0;
  std::vector<std::uint64_t> done_, clocks_;  // by rank
  std::vector<Transfer> transfers_;
};

/// By all ranks, in step.
void do_in_step(World& world, const Start& start);

}  // namespace dunlin::test
