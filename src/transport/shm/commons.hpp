// Shared memory that the members of one communicator of a node work in together: flags, and room for data.
//
//   head       who has left for good: the owner may give the memory to another communicator then; and which
//              operations wait for a place
//   track 0    the communicator's calls; tracks 1, 2, ... one persistent operation each
//     left     one line a member: up to which number it has done with the operations of the track
//     turns    of each turn (operations take turns by their number) one line a member: which number has
//              arrived there, and its first bytes of data; and one line a member for its share of the work
//     room     of each turn kRoomBytes a member, page aligned; touched by those who need it
//
// It lies in the region of the rank that led the creation of the communicator (segment.hpp).  All-zero memory
// is the valid start.  Used by coll/region.hpp, which says in what order.
//
// Thread safety: every line has one writer, the member it is numbered by, but for the head and the words of a
// `ShareLine`, which all may change.
// Invariants:
//  1. A member arrives at number n only when all have left n - turns: nobody looks at what it overwrites.
//  2. What a member wrote before it arrived may be read until that member sees the reader leave.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "transport/shm/hardware.hpp"

namespace dunlin::transport::shm {

using Number = Hardware::Atomic<std::uint64_t>;

struct alignas(64) ArrivalLine {
  static constexpr std::size_t kDataBytes = 32;
  Number arrived;                          // the operation that the data belongs to
  std::uint64_t known_left;                // `left` of this member as it was then
  std::uint64_t bytes;                     // of the data, wherever it is: what readers have to expect
  alignas(32) std::byte data[kDataBytes];  // as aligned as what a program's own operators may expect
};
static_assert(sizeof(ArrivalLine) == 64);

struct alignas(64) LeftLine {
  Number left;
};

/// Work of one member that anybody may do.  All words count from the operation's number << 32 on.
struct alignas(64) ShareLine {
  Number taken;     // pieces that somebody does or has done
  Number finished;  // pieces done
  Number spoilt;    // the number, when somebody could not reach memory
};

class Commons {
 public:
  static constexpr int kTracks = 8;
  /// Of a track, a power of two.  Two are enough where all wait for all; a root that stays ahead looks at who
  /// has left once in so many turns (2 ranks, bcast and reduce of 8 B to 16 KiB: 1.1 to 1.4 times as fast by
  /// eight as by two; Intel).
  static constexpr int turns(int track) noexcept { return track == 0 ? kTurns : kPersistentTurns; }
  /// For an operand and a result that are blocks of the C library, below 64 KiB, and their description.
  static constexpr std::size_t kRoomBytes = 144 << 10;

  Commons(std::byte* base, int members_max) noexcept : base_(base), members_max_(members_max) {}

  /// What one takes, for a node of so many ranks: a multiple of the page size.
  static constexpr std::size_t bytes(int members_max) noexcept {
    const auto rooms = std::size_t(turns_before(kTracks)) * std::size_t(members_max);
    return lines_bytes(members_max) + rooms * kRoomBytes;
  }

  LeftLine* left(int track) const noexcept { return reinterpret_cast<LeftLine*>(lines(track, 0)); }
  ArrivalLine* arrivals(int track, int turn) const noexcept {
    return reinterpret_cast<ArrivalLine*>(lines(track, 1 + 2 * turn));
  }
  ShareLine* shares(int track, int turn) const noexcept {
    return reinterpret_cast<ShareLine*>(lines(track, 2 + 2 * turn));
  }
  std::byte* room(int track, int turn, int member) const noexcept {
    DUNLIN_ASSERT(member < members_max_);
    const auto turns = std::size_t(turns_before(track) + turn);
    const std::size_t row = turns * std::size_t(members_max_) + std::size_t(member);
    return base_ + lines_bytes(members_max_) + row * kRoomBytes;
  }

  /// A member waits for the place of operation `number`: those who leave earlier ones wake it.
  void want_place(int track, std::uint64_t number) noexcept {
    Number& wanted = head()->wanted[track];
    std::uint64_t before = wanted.load(std::memory_order_relaxed);
    // W1: the sleeper's barrier (attention.hpp) comes between this and its last look at who has left.
    while (before < number && !wanted.compare_exchange_weak(before, number, std::memory_order_relaxed)) {
    }
  }
  /// Whether somebody may wait for one who has just left `number` (pairs with W1).
  bool is_place_wanted(int track, std::uint64_t number) const noexcept {
    return head()->wanted[track].load(std::memory_order_relaxed) > number;
  }

  /// A member of `members` will never come here again.  Relaxed: see `try_clear`.
  void leave_for_good(int members) noexcept {
    head()->members.store(std::uint32_t(members), std::memory_order_relaxed);
    head()->gone.fetch_add(1, std::memory_order_release);  // G1
  }
  /// The owner: whether all members have gone, and all is as new.
  bool try_clear() noexcept;
  /// The owner: nobody has been here.
  void clear() noexcept;

 private:
  struct alignas(64) Head {
    Hardware::Atomic<std::uint32_t> members;  // all write the same; 0 until the first has gone
    Hardware::Atomic<std::uint32_t> gone;     // members that will not come again
    Number wanted[kTracks];                   // the highest number that somebody has waited with for a place
  };
  static constexpr int kTurns = 8, kPersistentTurns = 2;
  static constexpr std::size_t kPageBytes = 4096;
  /// Of all tracks before this one.
  static constexpr int turns_before(int track) noexcept {
    return track == 0 ? 0 : kTurns + (track - 1) * kPersistentTurns;
  }
  /// The same of rows, of one line a member.
  static constexpr int rows_before(int track) noexcept { return track + 2 * turns_before(track); }

  static constexpr std::size_t lines_bytes(int members_max) noexcept {
    const auto rows = std::size_t(rows_before(kTracks)) * std::size_t(members_max);
    return (sizeof(Head) + rows * 64 + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  Head* head() const noexcept { return reinterpret_cast<Head*>(base_); }
  std::byte* lines(int track, int row) const noexcept {
    const auto before = std::size_t(rows_before(track) + row) * std::size_t(members_max_);
    return base_ + sizeof(Head) + before * 64;
  }

  std::byte* base_;
  int members_max_;
};

}  // namespace dunlin::transport::shm
