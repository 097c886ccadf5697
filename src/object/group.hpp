// MPI_Group: an ordered list of processes (MPI 5.0, 7.2.1 and 7.3).
//
// A process is named by its *peer index*: its place in this process's peer table (protocol/peers.hpp).  The
// ranks of the job's world are 0..n-1; processes of other jobs (spawn, connect) get the numbers behind.
// Scale: 4 bytes per member; the identity 0..n-1 (world and its duplicates) is shared, never copied.  An
// index by peer of 8 bytes per member is made when members are first looked up in a larger group. Thread
// safety: the index is made under base/big_lock.hpp; all else never changes.
#pragma once

#include <span>
#include <vector>

#include "object/object.hpp"
#include "object/session.hpp"

namespace dunlin {

class Group final : public Object {
 public:
  static constexpr Kind kKind = Kind::group;
  /// `my_peer_index` is this process's own peer index; rank() is where it stands in `members`, or -1.
  Group(std::vector<int> members, int my_peer_index) noexcept;
  /// The same for a group made from another, which takes over the session.
  Group(std::vector<int> members, const Group& from) noexcept : Group(std::move(members), from.me()) {
    session = from.session;
  }

  Ref<Session> session;  // whose process set the members come from; none for the world's (MPI 5.0, 11.3)

  int size() const noexcept { return int(members_.size()); }
  int rank() const noexcept { return rank_; }
  int member(int rank) const noexcept { return members_[std::size_t(rank)]; }
  const int* members() const noexcept { return members_.data(); }
  std::span<const int> span() const noexcept { return members_; }
  /// This process's peer index, member or not; -1 for MPI_GROUP_EMPTY, which is the same for everybody.
  int me() const noexcept { return me_; }
  /// Rank of a peer index in this group, or -1.  O(1) for 0..n-1, else O(log size) after the first call.
  int rank_of(int peer_index) const noexcept;

 private:
  struct Place {
    int peer, rank;
  };

  std::vector<int> members_;
  bool is_identity_;
  int me_;
  mutable std::vector<Place> index_;  // by peer; empty until needed
  int rank_;
};

/// MPI_GROUP_EMPTY.
Group& empty_group() noexcept;
/// Gives it its handle; once at start.
void init_predefined_groups() noexcept;

}  // namespace dunlin
