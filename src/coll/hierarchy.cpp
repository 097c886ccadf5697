// Domains of a communicator; see hierarchy.hpp.
#include "coll/hierarchy.hpp"

#include <algorithm>
#include <unordered_map>

namespace dunlin::coll {

namespace {

using Level = int MemberPlace::*;
constexpr Level kLevels[] = {&MemberPlace::memory, &MemberPlace::cache};
constexpr int kLevelCount = 2;

/// Ends of the groups of one level among a node's members.
std::vector<std::size_t> group_ends(std::span<const MemberPlace> places, std::span<const int> members,
                                    Level level) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i < members.size(); ++i)
    if (places[std::size_t(members[i])].*level != places[std::size_t(members[i - 1])].*level)
      ends.push_back(i);
  ends.push_back(members.size());
  return ends;
}

/// Ends of the fewest parts of equally many whole groups that are small enough; empty where a group is not.
std::vector<std::size_t> part_ends(const std::vector<std::size_t>& groups, std::size_t members_max) {
  const std::size_t members = groups.back();
  for (std::size_t parts = (members + members_max - 1) / members_max; parts <= groups.size(); ++parts) {
    std::vector<std::size_t> ends;
    std::size_t longest = 0, begin = 0;
    for (std::size_t part = 1; part <= parts; begin = ends.back(), ++part) {
      ends.push_back(groups[groups.size() * part / parts - 1]);
      longest = std::max(longest, ends.back() - begin);
    }
    if (longest <= members_max) return ends;
  }
  return {};
}

}  // namespace

Hierarchy::Hierarchy(std::span<const MemberPlace> member_places, int domain_members_max)
    : domains_(member_places.size()), places_(member_places.size()) {
  DUNLIN_ASSERT(domain_members_max > 0);
  std::unordered_map<int, std::size_t> found;
  std::vector<std::vector<int>> nodes;  // in the order of their first members
  for (std::size_t member = 0; member < member_places.size(); ++member) {
    const auto [at, is_new] = found.emplace(member_places[member].node, nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[at->second].push_back(int(member));
  }
  begins_.push_back(0);
  for (const std::vector<int>& node : nodes) cut(member_places, node, 0, std::size_t(domain_members_max));
  DUNLIN_ASSERT(order_.size() == member_places.size());
  is_in_order_ = std::is_sorted(order_.begin(), order_.end());
  leaders_max_ = int(order_.size());
  for (int domain = 0; domain < domains(); ++domain)
    leaders_max_ = std::min(leaders_max_, int(members(domain).size()));
}

/// Into domains: whole groups of a level, where these are small enough, else each of them by the next level.
void Hierarchy::cut(std::span<const MemberPlace> places, std::span<const int> members, int level,
                    std::size_t members_max) {
  if (members.size() <= members_max) return add_domain(members);
  std::vector<std::size_t> ends;
  bool are_domains = true;
  if (level < kLevelCount) {
    const std::vector<std::size_t> groups = group_ends(places, members, kLevels[level]);
    ends = part_ends(groups, members_max);
    are_domains = !ends.empty();
    if (!are_domains) ends = groups;
  } else {
    const std::size_t parts = (members.size() + members_max - 1) / members_max;
    for (std::size_t part = 1; part <= parts; ++part) ends.push_back(members.size() * part / parts);
  }
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    const std::span<const int> part = members.subspan(begin, end - begin);
    if (are_domains)
      add_domain(part);
    else
      cut(places, part, level + 1, members_max);
    begin = end;
  }
}

void Hierarchy::add_domain(std::span<const int> members) {
  for (const int member : members) {
    domains_[std::size_t(member)] = domains();
    places_[std::size_t(member)] = int(order_.size()) - begins_.back();
    order_.push_back(member);
  }
  begins_.push_back(int(order_.size()));
}

}  // namespace dunlin::coll
