// Blocks of all ranks in one row of bytes, domain after domain: what leaders of domains pass on.
// Used by allgather_hierarchical.cpp, gather_hierarchical.cpp and scatter_hierarchical.cpp.
#pragma once

#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

/// The blocks of each domain as one; `start(position)`: bytes of the row before that position in the order of
/// the hierarchy.
template <class Start>
Blocks by_domain(const Cx& cx, std::byte* row, const Start& start) noexcept {
  const Hierarchy& all = *cx.hierarchy;
  const auto domains = std::size_t(all.domains());
  auto* const counts = reinterpret_cast<std::int64_t*>(cx.take(2 * domains * sizeof(std::int64_t)));
  if (!counts) return {};
  std::int64_t* const starts = counts + domains;
  bool are_equal = all.is_grid();  // also without data: the same on a rank that alone gives none
  for (int domain = 0; domain < all.domains(); ++domain) {
    starts[domain] = start(all.begin_of(domain));
    counts[domain] = start(all.begin_of(domain + 1)) - starts[domain];
    are_equal &= counts[domain] == counts[0];
  }
  if (are_equal) return Blocks::equal(row, counts[0], nullptr);
  return Blocks::varied(row, IntArray{counts, true}, IntArray{starts, true}, nullptr);
}

/// A rank's part in a gather or a scatter of equal blocks: all of the row at the root, which leads its
/// domain; at another leader that of its domain; nothing elsewhere.
struct RootedRow {
  bool is_root, is_leader;
  bool is_direct;   // at the root: the row is the program's own buffer
  int root_domain;  // which leads the others
  int leader;       // its place in this rank's domain
  std::byte* data;
  std::size_t bytes;  // of a block

  /// `all` counts at the root only.  With too little memory the run ends at its next step.
  static RootedRow take(const Cx& cx, const Cx& domain, const Blocks& all, std::size_t bytes,
                        int root) noexcept {
    const Hierarchy& hierarchy = *cx.hierarchy;
    RootedRow row{cx.rank == root, false, false, hierarchy.domain_of(root), 0, nullptr, bytes};
    if (hierarchy.domain_of(cx.rank) == row.root_domain) row.leader = hierarchy.place_of(root);
    row.is_leader = domain.rank == row.leader;
    row.is_direct = row.is_root && hierarchy.is_in_order() && all[root].is_contiguous();
    if (row.is_direct)
      row.data = all.base;
    else if (row.is_leader)
      row.data = cx.take(bytes * std::size_t(row.is_root ? cx.size : domain.size));
    return row;
  }
  /// The block that is the `position`-th of the whole row.
  Block block(int position) const noexcept {
    return Block::of_bytes(data + std::size_t(position) * bytes, bytes);
  }
  /// The blocks of this rank's domain: one by one, and as a whole.
  Blocks near(const Cx& cx) const noexcept {
    const int first = is_root ? cx.hierarchy->begin_of(root_domain) : 0;
    return Blocks::equal(block(first).at, std::int64_t(bytes), nullptr);
  }
  Block near_as_one(const Cx& cx, const Cx& domain) const noexcept { return near(cx).run(0, domain.size); }
  /// All blocks, at the root.
  Blocks domains(const Cx& cx) const noexcept {
    return by_domain(cx, data, [this](int position) { return std::int64_t(bytes) * position; });
  }
};

}  // namespace dunlin::coll
