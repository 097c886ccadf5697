// MPI_Group: an ordered list of processes (MPI 5.0, 7.2.1 and 7.3).
//
// A process is named by its *peer index*: its place in this process's peer table (protocol/peers.hpp).  The ranks of the
// job's world are 0..n-1; processes of other jobs (spawn, connect) get the numbers behind.
// Scale: 4 bytes per member; the identity 0..n-1 (world and its duplicates) is shared, never copied.
#pragma once

#include <span>
#include <vector>

#include "object/object.hpp"

namespace dunlin {

class Group final : public Object {
 public:
  static constexpr Kind kKind = Kind::group;
  /// `my_peer_index` is this process's own peer index; rank() is where it stands in `members`, or -1.
  Group(std::vector<int> members, int my_peer_index) noexcept;

  int size() const noexcept { return int(members_.size()); }
  int rank() const noexcept { return rank_; }
  int member(int rank) const noexcept { return members_[std::size_t(rank)]; }
  const int* members() const noexcept { return members_.data(); }
  std::span<const int> span() const noexcept { return members_; }
  /// Rank of a peer index in this group, or -1.  O(size).
  int rank_of(int peer_index) const noexcept;

 private:
  std::vector<int> members_;
  int rank_;
};

}  // namespace dunlin
