// Equal blocks of all ranks in one row of bytes, domain after domain: what leaders of domains pass on.
// Used by gather_hierarchical.cpp and scatter_hierarchical.cpp.
#pragma once

#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

/// The row at a rank: all of it at the root, the part of its own domain at another leader, nothing elsewhere.
struct DomainRow {
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // of a block
  bool is_whole = false;

  /// The block that is the `position`-th of the whole row.
  Block block(int position) const noexcept {
    return Block::of_bytes(data + std::size_t(position) * bytes, bytes);
  }
  /// The blocks of this rank's domain.
  Blocks of_domain(const Cx& cx) const noexcept {
    const int first = is_whole ? position_of(*cx.hierarchy, cx.hierarchy->domain_of(cx.rank)) : 0;
    return Blocks::equal(data + std::size_t(first) * bytes, std::int64_t(bytes), nullptr);
  }
  /// Of the whole row one block for each domain.
  Blocks by_domain(const Cx& cx) const noexcept {
    const Hierarchy& all = *cx.hierarchy;
    const auto domains = std::size_t(all.domains());
    auto* const counts = reinterpret_cast<std::int64_t*>(cx.take(2 * domains * sizeof(std::int64_t)));
    if (!counts) return {};
    std::int64_t* const starts = counts + domains;
    bool are_equal = true;
    for (int domain = 0; domain < all.domains(); ++domain) {
      starts[domain] = std::int64_t(bytes) * position_of(all, domain);
      counts[domain] = std::int64_t(bytes * all.members(domain).size());
      are_equal &= counts[domain] == counts[0];
    }
    if (are_equal) return Blocks::equal(data, counts[0], nullptr);
    return Blocks::varied(data, IntArray{counts, true}, IntArray{starts, true}, nullptr);
  }

 private:
  static int position_of(const Hierarchy& all, int domain) noexcept {
    return int(all.members(domain).data() - all.order().data());
  }
};

}  // namespace dunlin::coll
