// How collectives over several domains divide their data among leaders: slice i goes through the i-th member
// of every domain.  Used by bcast_hierarchical.cpp and combine_hierarchical.cpp.
//
// Where there is only one leader in each domain, it is the root in the root's domain and the first member in
// the others, so that nothing has to be handed on.
// Source: Bayatpour and others, SC 2017 (several leaders, each with its part of the data).
#pragma once

#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {

struct Slices {
  int leaders;             // of each domain
  int first;               // place of the first leader in this rank's domain
  bool is_in_root_domain;  // false where there is no root

  /// Of `bytes` in `count` elements; `root`: -1 where there is none.
  static Slices of(const Cx& cx, std::size_t bytes, std::int64_t count, int root) noexcept {
    const Hierarchy& all = *cx.hierarchy;
    const bool is_near = root >= 0 && all.domain_of(root) == all.domain_of(cx.rank);
    const auto wanted = std::int64_t(bytes / leader_bytes_min());
    const int leaders = int(std::clamp<std::int64_t>(std::min(wanted, count), 1, all.leaders_max()));
    return {leaders, leaders == 1 && is_near ? all.place_of(root) : 0, is_near};
  }
  bool has_leader(const Cx& domain) const noexcept {
    return domain.rank >= first && domain.rank < first + leaders;
  }
  /// For each place in the domain its slice, nothing for those that lead none.
  Blocks cut(const Cx& domain, std::byte* base, std::int64_t count, const Datatype* type) const noexcept {
    const auto places = std::size_t(domain.size);
    auto* const counts = reinterpret_cast<std::int64_t*>(domain.take(2 * places * sizeof(std::int64_t)));
    if (!counts) return {};
    std::int64_t* const starts = counts + places;
    for (int place = 0; place < domain.size; ++place) {
      const bool leads = place >= first && place < first + leaders;
      const std::int64_t slice = place - first;
      starts[place] = leads ? count * slice / leaders : 0;
      counts[place] = leads ? count * (slice + 1) / leaders - starts[place] : 0;
    }
    return Blocks::varied(base, IntArray{counts, true}, IntArray{starts, true}, type);
  }
  /// Those that lead the same slice as this rank.
  Cx colleagues(const Cx& cx, const Cx& domain, int root) const noexcept {
    return leaders == 1 ? cx.leaders(0, root) : cx.leaders(domain.rank, -1);
  }
};

}  // namespace dunlin::coll
