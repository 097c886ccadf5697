// Work that the members of a region do together, straight from and to the buffers of all of them.
//
// Each member describes its buffers before it arrives.  When all are there, the work is cut into shares, one
// a member, and each share into pieces.  A member does the pieces of its own share, then helps with those of
// the others: so nobody waits for a rank that has no CPU at this moment, or that computes meanwhile, and
// where ranks share CPUs the last to arrive on each CPU does the work of all that sleep.  Who does a piece
// does not change its result.  Called by exchange_direct.cpp and combine_direct.cpp.
//
// What others cannot map (small blocks, stacks) the kernel copies between a member and its owner, where the
// work is copies and nothing lies between the bytes; nobody helps with others' shares then.  Else it goes
// through the owner's room in shared memory, where it fits: in before the owner arrives, out when all is
// done.  A buffer that nobody can reach, or one that a worker finds out of reach (its owner has forked),
// spoils the work.  All members find that out alike, and do the whole by messages; where the work has a root,
// only the pair that it concerns.
// Thread safety: under base/big_lock.hpp.
#pragma once

#include "coll/steps.hpp"
#include "protocol/layouts.hpp"
#include "protocol/messaging.hpp"

namespace dunlin::coll {

/// Bytes that this process has loaded from members' operands and stored into their results, by kernels and
/// copies of direct reductions; told when it ends (DUNLIN_VERBOSE=1).
struct Traffic {
  std::uint64_t loaded = 0, stored = 0;
  std::uint64_t around = 0;  // the cache, by `store`
  std::uint64_t taken = 0;   // over, of lines that others had
};
extern Traffic traffic;

/// Copies a block; around the cache where what all members read and store, `all_bytes`, does not fit it, or
/// where the block is another's who is far.
void store(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t all_bytes,
           bool is_for_far) noexcept;

/// How others can use a buffer: not at all; by copies of the kernel between them and its owner; by loads and
/// stores.
enum class Reach : std::uint8_t { none, by_kernel, mapped };

/// What a member writes for the others: its buffers, as many as the algorithm says.
struct OfferedBuffers {
  /// As the layout of a buffer in the room, whose address is its distance from the room's beginning.
  static constexpr std::uint64_t kInRoom = 1;
  /// The same of one that only the kernel copies.
  static constexpr std::uint64_t kByKernel = 2;

  /// Lines for `SharedWork::look_at_distance`, of which every eighth turn takes one; each with its neighbour,
  /// which processors fetch by the way.
  struct alignas(128) Stamp {
    transport::shm::Number number;
  };
  static constexpr int kStampBits = 4;
  Stamp stamps[1 << kStampBits];
  std::uint64_t turn;  // whose buffers these are: a member that gives another length may take another way
  std::uint32_t count;
  Reach reach;          // the least of all
  bool has_gaps;        // in one of them
  bool are_others_far;  // as that member finds
  protocol::RemoteBuffer buffers[];

  static std::size_t bytes(int count) noexcept {
    return offsetof(OfferedBuffers, buffers) + std::size_t(count) * sizeof(protocol::RemoteBuffer);
  }
  /// Of a turn: in no order that a processor could follow.
  transport::shm::Number& stamp(std::uint64_t number) noexcept {
    return stamps[number * 0x9e3779b97f4a7c15u >> (64 - kStampBits)].number;
  }
};

/// Whether all other members are far from this one (transport/shm/distance.hpp).  It stores around the caches
/// for them then: in a far cache each line that it stores would ask for its owner.  Not where ranks share
/// CPUs.
bool are_others_far(const Cx& cx) noexcept;
/// Whether a member that reads `bytes` of others in all had better take over their lines, and those that
/// others have stored for it (copy/copy.hpp).  Not where ranks share CPUs: their data falls out of the caches
/// meanwhile, and half of it comes from the same one.
bool takes_over(const Cx& cx, std::size_t bytes, bool is_far) noexcept;
void take_over(const std::byte* lines, std::size_t bytes) noexcept;

/// One member's side of the work.
class SharedWork {
 public:
  /// `least`: of the buffers that the work can use.
  SharedWork(const Cx& cx, const Turn& turn, int buffers, Reach least) noexcept
      : cx_(cx),
        turn_(turn),
        count_(buffers),
        least_(least),
        next_(peer(cx.wrapped(cx.rank + 1))),
        theirs_(memory_of(next_)),
        room_used_(round_up(OfferedBuffers::bytes(buffers))) {}

  // Before arriving.
  void begin() noexcept;
  /// Others read it.
  void give(int index, const Source& data) noexcept;
  /// Others write it.
  void want(int index, const Target& data) noexcept;
  /// There is a buffer that others cannot use.
  void refuse() noexcept { offered(cx_.rank).reach = Reach::none; }

  // When all are there.
  /// Whether this member has found all others far before it began; they may find other things.
  bool is_far() const noexcept { return offered(cx_.rank).are_others_far; }
  /// Whether all have found that.
  bool are_all_far() const noexcept;
  /// How far a member is whose description has been read: now and then times the load of the line that it has
  /// stamped in this turn, and that nobody else loads.
  void look_at_distance(int member) const noexcept;
  void look_at_distances() const noexcept {
    for (int step = 1; step < cx_.size; ++step) look_at_distance(cx_.wrapped(cx_.rank + step));
  }
  /// False: it has arrived in another collective, or in one of another length.
  bool is_described(int member) const noexcept {
    return offered(member).turn == turn_.number() && offered(member).count == std::uint32_t(count_);
  }
  /// False: there is a buffer of a described member that others cannot use.
  bool is_reachable(int member) const noexcept {
    return !is_described(member) || offered(member).reach != Reach::none;
  }
  /// Of all members' buffers; the kernel copies between such without gaps only.
  Reach least_reach() const noexcept;
  /// An empty one of a member that has described none.
  const protocol::RemoteBuffer& buffer(int member, int index) const noexcept {
    static constexpr protocol::RemoteBuffer kNone{};
    return is_described(member) ? offered(member).buffers[index] : kNone;
  }
  /// The bytes of what a member gives, also of one that has described nothing.
  std::size_t bytes_given(int member, int index) const noexcept {
    return is_described(member) ? buffer(member, index).bytes : turn_.bytes_of(member);
  }
  bool is_in_room(const protocol::RemoteBuffer& buffer) const noexcept {
    return buffer.layout == OfferedBuffers::kInRoom;
  }
  /// A buffer by plain loads and stores; one of this process only where it is in the room.
  protocol::MappedBuffer map(int member, const protocol::RemoteBuffer& buffer) const noexcept;
  bool is_still_valid(int member, const peer::Mapping& mapping) const noexcept;
  static bool is_by_kernel(const protocol::RemoteBuffer& buffer) noexcept {
    return buffer.layout == OfferedBuffers::kByKernel;
  }
  /// Bytes `begin` to `end` of such a buffer, by the kernel.  False: not all have been copied.
  bool try_read(int member, const protocol::RemoteBuffer& from, const Target& to, std::size_t begin,
                std::size_t end) const noexcept;
  bool try_write(int member, const protocol::RemoteBuffer& to, const Source& from, std::size_t begin,
                 std::size_t end) const noexcept;

  /// A piece of `member`'s share that nobody else does, or -1.
  int try_take(int member, int pieces) const noexcept;
  /// It is done; `is_good`: all memory could be reached.
  void finish(int member, int pieces, bool is_good) const noexcept;
  Flags is_finished(int member, int pieces) const noexcept;

  // When all is finished.
  /// Whether a piece of the member's share was not good.
  bool is_spoilt(int member) const noexcept {
    return turn_.share(member).spoilt.load(std::memory_order_relaxed) == turn_.number();
  }
  /// Whether all pieces were good.
  bool is_good() const noexcept;
  /// Brings what is wanted out of the room, where it is there.
  void fetch(int index, const Target& data) const noexcept;

 private:
  bool is_stamped() const noexcept { return turn_.number() % 8 == 0; }
  static std::size_t round_up(std::size_t bytes) noexcept { return (bytes + 63) & ~std::size_t{63}; }
  OfferedBuffers& offered(int member) const noexcept {
    return *reinterpret_cast<OfferedBuffers*>(turn_.room(member));
  }
  /// False: others cannot map it.
  template <class Data>
  bool try_offer(int index, const Data& data) noexcept;
  /// A place in the room instead; nullptr when there is not enough left.
  std::byte* take_room(int index, std::size_t bytes) noexcept;
  template <class Data>
  bool try_leave_to_kernel(int index, const Data& data) noexcept;
  protocol::Peer& peer(int member) const noexcept;
  peer::PeerMemory* memory_of(protocol::Peer& peer) const noexcept;

  const Cx cx_;
  const Turn& turn_;
  const int count_;  // of each member's buffers
  const Reach least_;
  protocol::Peer& next_;                  // the next member: all reach each other alike, or spoil the work
  const peer::PeerMemory* const theirs_;  // its memory, or null
  std::size_t room_used_;                 // of this member's
  Source last_given_;                     // at `last_index_`: often given to several
  int last_index_ = -1;
};

/// Does the pieces of a member's share as long as there are some; `work.pieces(member)` are in it, and
/// `work.do_piece(member, piece)` does one and answers whether it was good.
template <class Work>
void do_share(const SharedWork& shared, const Work& work, int member) noexcept {
  const int pieces = work.pieces(member);
  for (int piece; (piece = shared.try_take(member, pieces)) >= 0;)
    shared.finish(member, pieces, work.do_piece(member, piece));
}
/// All shares, the own one first.
template <class Work>
void do_all(const Cx& cx, const SharedWork& shared, const Work& work) noexcept {
  for (int step = 0; step < cx.size; ++step) do_share(shared, work, cx.wrapped(cx.rank + step));
}

}  // namespace dunlin::coll
