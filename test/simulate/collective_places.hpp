// Where the blocks of a case lie in one buffer: for the collectives with an array of them.
#pragma once

#include <numeric>

#include "test/simulate/collective_case.hpp"

namespace dunlin::test {

/// Arrays of counts and displacements (in elements) for blocks of given values, in shuffled places.
struct Places {
  std::vector<int> counts, displacements;
  std::int64_t elements = 0;
  IntArray counts_array() const { return {counts.data(), false}; }
  IntArray displacements_array() const { return {displacements.data(), false}; }
};

inline Places any_places(const std::vector<std::int64_t>& values, std::int64_t values_per_element,
                         std::mt19937_64& dice) {
  Places places;
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), dice);
  places.counts.resize(values.size());
  places.displacements.resize(values.size());
  for (const int rank : order) {
    const auto at = std::size_t(rank);
    places.counts[at] = int(values[at] / values_per_element);
    places.displacements[at] = int(places.elements + std::int64_t(dice() % 3));
    places.elements = places.displacements[at] + places.counts[at];
  }
  return places;
}

/// A rank's blocks, and what the four forms of a call want to know of them.
struct BlocksOfRank {
  Buffer buffer;
  Places places;
  std::vector<int> bytes;           // displacements of a w-form
  std::vector<MPI_Datatype> types;  // of a w-form: all the same here, but given one by one
  std::int64_t index(int block, std::int64_t i) const {
    return places.displacements[std::size_t(block)] * buffer.layout().values + i;
  }
  std::int64_t values_of(std::size_t block) const { return places.counts[block] * buffer.layout().values; }
};

/// Blocks of so many values; `are_equal`: one behind the other.
inline BlocksOfRank make_blocks(const Layout& layout, const std::vector<std::int64_t>& values, bool are_equal,
                                std::mt19937_64& dice) {
  BlocksOfRank blocks;
  blocks.places = any_places(values, layout.values, dice);
  if (are_equal) {
    blocks.places.elements = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      blocks.places.displacements[i] = int(blocks.places.elements);
      blocks.places.elements += blocks.places.counts[i];
    }
  }
  blocks.buffer = Buffer(layout, blocks.places.elements);
  for (const int each : blocks.places.displacements) blocks.bytes.push_back(int(each * layout.extent));
  blocks.types.assign(values.size(), to_handle<MPI_Datatype>(*layout.type));
  return blocks;
}

}  // namespace dunlin::test
