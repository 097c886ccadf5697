// Domains of a communicator; see hierarchy.hpp.
#include "coll/hierarchy.hpp"

#include <algorithm>
#include <unordered_map>

namespace dunlin::coll {

Hierarchy::Hierarchy(const std::vector<int>& node_of_member, int domain_members_max)
    : domains_(node_of_member.size()), places_(node_of_member.size()) {
  DUNLIN_ASSERT(domain_members_max > 0);
  std::unordered_map<int, std::size_t> found;
  std::vector<std::vector<int>> nodes;  // in the order of their first members
  for (std::size_t member = 0; member < node_of_member.size(); ++member) {
    const auto [at, is_new] = found.emplace(node_of_member[member], nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[at->second].push_back(int(member));
  }
  begins_.push_back(0);
  for (const std::vector<int>& node : nodes) {
    const auto max = std::size_t(domain_members_max);
    const std::size_t parts = (node.size() + max - 1) / max;
    for (std::size_t part = 0; part < parts; ++part) {
      for (std::size_t i = node.size() * part / parts; i < node.size() * (part + 1) / parts; ++i) {
        domains_[std::size_t(node[i])] = domains();
        places_[std::size_t(node[i])] = int(order_.size()) - begins_.back();
        order_.push_back(node[i]);
      }
      begins_.push_back(int(order_.size()));
    }
  }
  DUNLIN_ASSERT(order_.size() == node_of_member.size());
  is_in_order_ = std::is_sorted(order_.begin(), order_.end());
  leaders_max_ = int(order_.size());
  for (int domain = 0; domain < domains(); ++domain)
    leaders_max_ = std::min(leaders_max_, int(members(domain).size()));
}

}  // namespace dunlin::coll
