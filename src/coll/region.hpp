// The shared memory in which the members of a communicator of one node do their collectives together.
//
// Made with the communicator (comm/create.cpp) where all its members are on one node; used by the algorithms
// called `..._shared` through `Turn`.  An operation has a number, the same on all members; in its turn a
// member
//
//   1. waits until its place is free: everybody has left the operation that was there before;
//   2. puts data there and arrives;
//   3. waits for those whose data it wants, and reads it;
//   4. leaves: from now on it looks at nobody's data.
//
// A collective in which all wait for all needs no look at who has left: a member that has arrived later
// tells. Persistent operations, which ranks may start in any order, have tracks of their own while they live,
// as long as there are some. Thread safety: under base/big_lock.hpp; what lies in shared memory:
// transport/shm/commons.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/copy_short.hpp"
#include "coll/block.hpp"
#include "copy/copy.hpp"
#include "os/cpu.hpp"
#include "transport/shm/channel.hpp"
#include "transport/shm/commons.hpp"

namespace dunlin::coll {

/// Where a block begins behind the first `used` bytes of a room.  A long one begins a line: its target would
/// often lie a little behind its source (base/little_behind.hpp), and into lines of another core such a copy
/// of 16 KiB takes 7 us longer (Intel Emerald Rapids).
constexpr std::size_t place_behind(std::size_t used, std::size_t bytes) noexcept {
  const std::size_t unit = bytes < 1024 ? 8 : 64;
  return (used + unit - 1) / unit * unit;
}

/// Flags of `count` members, one line each, all of which have to reach `value`.
class Flags {
 public:
  Flags() noexcept = default;
  /// `flag` is that of `member`, the first of them.  `own`: this member's, which is up and not looked at: its
  /// line may be in the cache of another that has read it.
  Flags(const transport::shm::Number* flag, int member, int count, std::uint64_t value,
        const transport::shm::Number* own = nullptr) noexcept
      : next_(flag), end_(flag + count * kStride), own_(own), value_(value), end_member_(member + count) {}
  Flags(const Flags&) noexcept = default;
  /// One by one: as a whole they would be read in larger pieces than they have just been written in, and
  /// such a read waits until all that was written before, the line of an arrival, is in this core's cache.
  Flags& operator=(const Flags& other) noexcept {
    next_ = other.next_;
    end_ = other.end_;
    own_ = other.own_;
    value_ = other.value_;
    end_member_ = other.end_member_;
    return *this;
  }

  /// Goes on where it found a flag that was not up.
  bool are_up() noexcept {
    // F1 (pairs with A1, A2 and L1 below, and D1 in shared_work.cpp): what was written before a flag went up
    // is there.
    for (; next_ != end_; next_ += kStride)
      if (next_ != own_ && next_->load(std::memory_order_acquire) < value_) return false;
    return true;
  }
  /// How many have not been seen up, and whose is the first of them.
  int count() const noexcept { return int((end_ - next_) / kStride); }
  bool is_empty() const noexcept { return next_ == end_; }
  int member() const noexcept { return end_member_ - count(); }

 private:
  static constexpr std::ptrdiff_t kStride = 64 / sizeof(transport::shm::Number);
  const transport::shm::Number* next_ = nullptr;
  const transport::shm::Number* end_ = nullptr;
  const transport::shm::Number* own_ = nullptr;
  std::uint64_t value_ = 0;
  int end_member_ = 0;
};

class Region {
 public:
  /// By member: how it is woken; null for this process.
  Region(const transport::shm::Commons& commons, int me,
         std::vector<transport::shm::Channel*> channels) noexcept;
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  int size() const noexcept { return int(channels_.size()); }
  /// Tracks without a persistent operation of this process, one bit each.  Members free operations in any
  /// order, so a track can be taken when it is free for all (agree_on_track in plan.hpp).
  std::uint64_t free_tracks() const noexcept { return free_tracks_; }
  void take_track(int track) noexcept { free_tracks_ &= ~(std::uint64_t{1} << track); }
  void give_back_track(int track) noexcept { free_tracks_ |= std::uint64_t{1} << track; }
  /// Of another member's cache.
  transport::shm::Distance& distance(int member) const noexcept {
    DUNLIN_ASSERT(member != me_);
    return channels_[std::size_t(member)]->distance();
  }

 private:
  friend class Turn;
  friend class Reservation;
  struct Track {
    std::uint64_t started = 0;     // the number given out last
    std::uint64_t left = 0;        // all up to this number have been left by this process
    std::uint64_t left_after = 0;  // bit i: so has left + 1 + i
    std::uint64_t known_left = 0;  // all members have left at least up to here
    /// False: an earlier one has not been left yet.
    bool leave(std::uint64_t number) noexcept {
      DUNLIN_ASSERT(number > left && number - left <= 64);
      if (number == left + 1 && left_after == 0) [[likely]] {
        left = number;
        return true;
      }
      left_after |= std::uint64_t{1} << (number - left - 1);
      const bool is_first = left_after & 1;
      for (; left_after & 1; left_after >>= 1) ++left;
      return is_first;
    }
    bool has_left(std::uint64_t number) const noexcept {
      return number <= left || (number - left <= 64 && left_after >> (number - left - 1) & 1);
    }
  };
  static std::uint64_t turns_of(int track) noexcept {
    return std::uint64_t(transport::shm::Commons::turns(track));
  }
  Flags place_is_free(int track, std::uint64_t number) noexcept {
    if (number <= tracks_[track].known_left + turns_of(track)) [[likely]]
      return {};
    return look_for_place(track, number);
  }
  [[gnu::noinline]] Flags look_for_place(int track, std::uint64_t number) noexcept;
  void wake_all() noexcept {
    for (transport::shm::Channel* each : channels_)
      if (each) each->wake();
  }

  transport::shm::Commons commons_;
  const int me_;
  const std::vector<transport::shm::Channel*> channels_;
  Track tracks_[transport::shm::Commons::kTracks];
  std::uint64_t free_tracks_ = (std::uint64_t{1} << transport::shm::Commons::kTracks) - 2;
};

/// One operation's part of a region.
class Turn {
 public:
  /// A number that was reserved; 0: the next one of the track.
  Turn(Region& region, int track, std::uint64_t reserved = 0) noexcept
      : region_(&region),
        track_(track),
        number_(reserved ? reserved : ++region.tracks_[track].started),
        turn_(int(number_ & (Region::turns_of(track) - 1))),
        arrivals_(region.commons_.arrivals(track, turn_)) {}

  /// What has to be up before this member writes.
  Flags place_is_free() const noexcept { return region_->place_is_free(track_, number_); }
  /// Whether this member itself has not left its place yet: it has begun that many operations before.
  bool is_place_held() const noexcept {
    return number_ > region_->tracks_[track_].left + Region::turns_of(track_);
  }
  /// Where a member's data is, or for its owner is to be.
  std::byte* data(int member, std::size_t bytes) const noexcept {
    DUNLIN_ASSERT(bytes <= transport::shm::Commons::kRoomBytes);
    if (bytes <= transport::shm::ArrivalLine::kDataBytes) return arrivals_[member].data;
    return room(member);
  }
  /// The same for longer data only, on a page of its own.
  std::byte* room(int member) const noexcept { return region_->commons_.room(track_, turn_, member); }
  /// Writes data of `bytes` bytes at `position` of this member's, which are `all_bytes`.
  void put(const Block& block, std::size_t bytes, std::size_t position,
           std::size_t all_bytes) const noexcept {
    std::byte* const to = data(region_->me_, all_bytes) + position;
    move(block, Block::of_bytes(to, bytes), bytes);
  }
  /// Reads the same of another.
  void get(int member, const Block& block, std::size_t bytes, std::size_t position,
           std::size_t all_bytes) const noexcept {
    std::byte* const from = data(member, all_bytes) + position;
    move(Block::of_bytes(from, bytes), block, bytes);
    take_over(member, bytes, position, all_bytes);
  }
  /// This member has read them.  Of two it is the only reader: then the lines become its own, so that they
  /// are fast to write for their owner (copy/copy.hpp).
  void take_over(int member, std::size_t bytes, std::size_t position, std::size_t all_bytes) const noexcept {
    if (all_bytes <= transport::shm::ArrivalLine::kDataBytes || region_->size() != 2) return;
    if (member != region_->me_ && copy::takes_over(all_bytes))
      copy::take_over(room(member) + position, bytes);
  }
  /// `bytes` of its data are there.
  void arrive(std::size_t bytes) const noexcept;
  bool has_arrived() const noexcept {
    // Relaxed: this process writes it.
    return arrivals_[region_->me_].arrived.load(std::memory_order_relaxed) == number_;
  }
  /// How many a member that is there has brought.
  std::size_t bytes_of(int member) const noexcept { return arrivals_[member].bytes; }
  Flags all_are_there() const noexcept { return are_there(region_->size()); }
  /// Members 0 to `members` - 1.
  Flags are_there(int members) const noexcept {
    return {&arrivals_->arrived, 0, members, number_, &arrivals_[region_->me_].arrived};
  }
  Flags is_there(int member) const noexcept { return {&arrivals_[member].arrived, member, 1, number_}; }
  /// What this member adds to its data when all have arrived is there, too.
  void finish() const noexcept {
    // A2 (pairs with F1 in Flags): who sees it sees that.
    share(region_->me_).finished.store(finished_number(), std::memory_order_release);
    region_->wake_all();
  }
  Flags all_have_finished() const noexcept {
    return {&share(0).finished, 0, region_->size(), finished_number(), &share(region_->me_).finished};
  }
  std::uint64_t number() const noexcept { return number_; }
  transport::shm::ShareLine& share(int member) const noexcept {
    return region_->commons_.shares(track_, turn_)[member];
  }
  void wake_all() const noexcept { region_->wake_all(); }
  /// `has_met_all`: this member has seen all others arrive.
  void leave(bool has_met_all) const noexcept;
  /// A run that ended with an error has left, too: the others need its place.
  ~Turn() {
    if (!has_left_) leave(false);
  }
  Turn(const Turn&) = delete;

 private:
  static void move(const Block& from, const Block& to, std::size_t bytes) noexcept {
    if (bytes <= transport::shm::ArrivalLine::kDataBytes && from.is_contiguous() && to.is_contiguous())
      return copy_short(to.at, from.at, bytes);
    copy(from, to);
  }

  /// All words of a share line count from the number << 32 on.
  std::uint64_t finished_number() const noexcept { return (number_ << 32) + 1; }

  Region* region_;
  int track_;
  std::uint64_t number_;
  int turn_;
  transport::shm::ArrivalLine* arrivals_;
  mutable bool has_left_ = false;
};

/// A number for a turn that an operation may take later: numbers are given out in the order in which
/// operations start, which is the same on all members; the order of their later steps is not.
class Reservation {
 public:
  /// `region`: null where no turn will be taken.
  Reservation(Region* region, int track) noexcept
      : region_(region), track_(track), number_(region ? ++region->tracks_[track].started : 0) {}
  ~Reservation() { leave(); }
  Reservation(const Reservation&) = delete;

  Region* region() const noexcept { return region_; }
  std::uint64_t number() const noexcept { return number_; }
  /// What has to be up before a turn that was not taken after all may be left.
  Flags can_leave() const noexcept { return is_left() ? Flags{} : region_->place_is_free(track_, number_); }
  /// One that was not taken is met all the same: a member that has given another length may wait there.
  void leave() const noexcept {
    if (is_left()) return;
    const Turn turn(*region_, track_, number_);
    if (turn.place_is_free().are_up()) turn.arrive(0);  // else there is an error, and nobody waits for it
    turn.leave(false);
  }

 private:
  bool is_left() const noexcept { return !region_ || region_->tracks_[track_].has_left(number_); }
  Region* const region_;
  const int track_;
  const std::uint64_t number_;
};

inline void Turn::arrive(std::size_t bytes) const noexcept {
  transport::shm::ArrivalLine& mine = arrivals_[region_->me_];
  mine.known_left = region_->tracks_[track_].left;
  mine.bytes = bytes;
  // A1 (pairs with F1 in Flags): who sees the number sees this member's data.
  mine.arrived.store(number_, std::memory_order_release);
  region_->wake_all();
}

inline void Turn::leave(bool has_met_all) const noexcept {
  has_left_ = true;
  Region::Track& track = region_->tracks_[track_];
  if (has_met_all) {
    std::uint64_t all_left = track.left;  // of this member; its line may be in the cache of another
    for (int member = 0; member < region_->size(); ++member)
      if (member != region_->me_) all_left = std::min(all_left, arrivals_[member].known_left);
    track.known_left = std::max(track.known_left, all_left);
    // All have read what was in this member's next line.
    const auto next = int((number_ + 1) & (Region::turns_of(track_) - 1));
    os::prepare_to_write(&region_->commons_.arrivals(track_, next)[region_->me_]);
  }
  if (!track.leave(number_)) [[unlikely]]
    return;
  // L1 (pairs with place_is_free and F1): who sees the number may overwrite what this member has read.
  region_->commons_.left(track_)[region_->me_].left.store(track.left, std::memory_order_release);
  if (!has_met_all || region_->commons_.is_place_wanted(track_, track.left)) region_->wake_all();
}

}  // namespace dunlin::coll
