// How the members of a communicator lie on the job's nodes: in domains, whose members share memory.
//
// A domain is a node's members, or, of more than work well in one region (coll/region.hpp), a part of them:
// whole memory nodes of the machine as long as these are small enough, whole last-level caches of larger
// ones, and equal parts where ranks are not bound to such.  Collectives of communicators of several domains
// go in three steps: inside each domain, between leaders of the domains, inside each domain
// again (coll/algorithms/*_hierarchical.cpp).  Long data is cut into slices, and each has a leader of its
// own in every domain.
//
// Made with the communicator (comm/region.cpp) from what all ranks know alike, so that all members have the
// same; no message.  Cost: 16 bytes a member, 4 a domain.  Thread safety: immutable.
#pragma once

#include <span>
#include <vector>

#include "base/assert.hpp"

namespace dunlin::coll {

/// Where a member runs; numbers are arbitrary, and equal within a group.
struct MemberPlace {
  int node = 0;
  int memory = 0;  // memory node, of its node
  int cache = 0;   // last-level cache, of its node
};

class Hierarchy {
 public:
  /// By member; domains have at most `domain_members_max`.
  Hierarchy(std::span<const MemberPlace> places, int domain_members_max);

  int domains() const noexcept { return int(begins_.size()) - 1; }
  /// Ranks, ascending.
  std::span<const int> members(int domain) const noexcept {
    DUNLIN_ASSERT(domain >= 0 && domain < domains());
    const auto begin = std::size_t(begins_[std::size_t(domain)]);
    return std::span(order_).subspan(begin, std::size_t(begins_[std::size_t(domain) + 1]) - begin);
  }
  /// Where the members of a domain begin in `order`; of `domains()`: its end.
  int begin_of(int domain) const noexcept { return begins_[std::size_t(domain)]; }
  int domain_of(int member) const noexcept { return domains_[std::size_t(member)]; }
  /// Its index among the members of its domain.
  int place_of(int member) const noexcept { return places_[std::size_t(member)]; }
  /// All ranks, domain after domain.
  std::span<const int> order() const noexcept { return order_; }
  /// Whether that is their own order, too: then operators need not commute.
  bool is_in_order() const noexcept { return is_in_order_; }
  /// Whether domains are of equal size: then those at the same place are a group of one member of each.
  bool is_grid() const noexcept { return domains() * leaders_max_ == int(order_.size()); }
  /// How many leaders every domain can have: the members of the smallest.
  int leaders_max() const noexcept { return leaders_max_; }

 private:
  void cut(std::span<const MemberPlace> places, std::span<const int> members, int level,
           std::size_t members_max);
  void add_domain(std::span<const int> members);

  std::vector<int> order_;
  std::vector<int> begins_;   // of each domain in `order_`; one more for the end
  std::vector<int> domains_;  // by member
  std::vector<int> places_;   // by member
  bool is_in_order_ = true;
  int leaders_max_ = 0;
};

}  // namespace dunlin::coll
