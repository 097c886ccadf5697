// Blocks of grids for groups of near ranks; see reorder.hpp.
#include "comm/reorder.hpp"

#include <cstdint>
#include <unordered_map>

#include "comm/topology.hpp"

namespace dunlin::comm {
namespace {

/// The shape of blocks of a given volume that divide a grid with the smallest surface between them.
class BlockSearch {
 public:
  explicit BlockSearch(const std::vector<int>& dims) : dims_(dims), shape_(dims.size(), 1) {}
  /// Empty where no block fits.
  std::vector<int> find(int volume) {
    try_from(0, volume);
    return best_;
  }

 private:
  void try_from(std::size_t dimension, int volume_left) {
    if (dimension == dims_.size()) {
      if (volume_left == 1) consider();
      return;
    }
    for (int length = 1; length <= dims_[dimension] && length <= volume_left; ++length) {
      if (dims_[dimension] % length != 0 || volume_left % length != 0) continue;
      shape_[dimension] = length;
      try_from(dimension + 1, volume_left / length);
    }
  }
  void consider() {
    std::int64_t surface = 0, cells = 1;  // pairs of neighbors in different blocks
    for (const int length : dims_) cells *= length;
    for (std::size_t i = 0; i < dims_.size(); ++i) surface += (dims_[i] / shape_[i] - 1) * (cells / dims_[i]);
    if (!best_.empty() && surface >= surface_) return;
    best_ = shape_;
    surface_ = surface;
  }

  const std::vector<int>& dims_;
  std::vector<int> shape_, best_;
  std::int64_t surface_ = 0;
};

/// Empty where groups are not equally large.
std::vector<std::vector<int>> equal_groups(std::span<const coll::MemberPlace> places,
                                           const std::vector<int>& members, Level level) {
  std::vector<std::vector<int>> groups = groups_of(places, members, level);
  for (const std::vector<int>& group : groups)
    if (group.size() != groups[0].size()) return {};
  return groups;
}

/// Gives each group of a level a block of the grid, and so on in each block by the next level.
std::vector<int> fill(std::span<const coll::MemberPlace> places, const std::vector<int>& members,
                      const std::vector<int>& dims, int level) {
  if (level == kLevelCount) return members;
  std::vector<std::vector<int>> groups = equal_groups(places, members, kLevels[level]);
  if (groups.size() == 1) return fill(places, members, dims, level + 1);
  const std::vector<int> shape =
      groups.empty() ? std::vector<int>{} : BlockSearch(dims).find(int(groups[0].size()));
  if (shape.empty()) return members;
  for (std::vector<int>& group : groups) group = fill(places, group, shape, level + 1);
  std::vector<int> ranks(members.size());
  for (std::size_t cell = 0; cell < ranks.size(); ++cell) {
    int block = 0, inside = 0, blocks = 1, insides = 1, rest = int(cell);
    for (std::size_t i = dims.size(); i-- > 0; rest /= dims[i]) {
      const int coordinate = rest % dims[i];
      block += coordinate / shape[i] * blocks;
      inside += coordinate % shape[i] * insides;
      blocks *= dims[i] / shape[i];
      insides *= shape[i];
    }
    ranks[cell] = groups[std::size_t(block)][std::size_t(inside)];
  }
  return ranks;
}

}  // namespace

std::vector<std::vector<int>> groups_of(std::span<const coll::MemberPlace> places,
                                        const std::vector<int>& members, Level level) {
  std::unordered_map<int, std::size_t> found;
  std::vector<std::vector<int>> groups;
  for (const int member : members) {
    const auto [at, is_new] = found.emplace(places[std::size_t(member)].*level, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(member);
  }
  return groups;
}

std::vector<int> ranks_of_grid(std::span<const coll::MemberPlace> places, const std::vector<int>& dims) {
  return fill(places, first_ranks(int(places.size())), dims, 0);
}

}  // namespace dunlin::comm
