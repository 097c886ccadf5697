// Blocks of grids for domains; see reorder.hpp.
#include "comm/reorder.hpp"

#include <cstdint>

#include "coll/hierarchy.hpp"
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

/// How many members every domain has; 0 where they have not equally many.
int members_of_each(const coll::Hierarchy& hierarchy) noexcept {
  const auto members = hierarchy.members(0).size();
  for (int domain = 1; domain < hierarchy.domains(); ++domain)
    if (hierarchy.members(domain).size() != members) return 0;
  return int(members);
}

}  // namespace

std::vector<int> ranks_of_grid(const Comm& comm, const std::vector<int>& dims, int size) noexcept {
  std::vector<int> ranks = first_ranks(size);
  const int members = comm.hierarchy && size == comm.size ? members_of_each(*comm.hierarchy) : 0;
  const std::vector<int> shape = members > 1 ? BlockSearch(dims).find(members) : std::vector<int>{};
  if (shape.empty()) return ranks;
  for (int cell = 0; cell < size; ++cell) {
    int block = 0, inside = 0, blocks = 1, insides = 1, rest = cell;
    for (std::size_t i = dims.size(); i-- > 0; rest /= dims[i]) {
      const int coordinate = rest % dims[i];
      block += coordinate / shape[i] * blocks;
      inside += coordinate % shape[i] * insides;
      blocks *= dims[i] / shape[i];
      insides *= shape[i];
    }
    ranks[std::size_t(cell)] = comm.hierarchy->order()[std::size_t(block * members + inside)];
  }
  return ranks;
}

}  // namespace dunlin::comm
