#include "bindings/fortran/attribute_values.hpp"

#include <bit>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace dunlin::fortran {
namespace {

// C reads an `int` where MPI_ATTR_PUT set an INTEGER, and an MPI_Aint otherwise: both begin at the address.
static_assert(std::endian::native == std::endian::little);

struct Boxes {
  std::mutex mutex;
  std::unordered_map<MPI_Aint, MPI_Aint> by_value;  // its elements never move
  std::unordered_set<const void*> places;
};

Boxes& boxes() noexcept {
  static Boxes& all = *new Boxes;  // used until the process ends
  return all;
}

}  // namespace

void* boxed(MPI_Aint value) noexcept {
  const std::lock_guard guard(boxes().mutex);
  MPI_Aint& place = boxes().by_value.emplace(value, value).first->second;
  boxes().places.insert(&place);
  return &place;
}

MPI_Aint value_of_attribute(void* stored) noexcept {
  const std::lock_guard guard(boxes().mutex);
  return boxes().places.contains(stored) ? *static_cast<MPI_Aint*>(stored)
                                         : reinterpret_cast<MPI_Aint>(stored);
}

}  // namespace dunlin::fortran
