// How a derived type was made: what MPI_Type_get_envelope and MPI_Type_get_contents give back (MPI 5.0,
// 5.1.13).
//
// Written once by the constructors; owned by the type, and holds references to the old types.
#pragma once

#include <cstdint>

#include "datatype/datatype.hpp"

namespace dunlin::datatype {

struct Recipe : Pooled {
  int combiner = 0;                       // MPI_COMBINER_...
  bool is_large = false;                  // made by a `_c` constructor with large counts
  PoolVector<int> integers;               // in the standard's order
  PoolVector<std::int64_t> addresses;     // in the standard's order
  PoolVector<std::int64_t> large_counts;  // in the standard's order
  PoolVector<Ref<Datatype>> types;        // old types
};

}  // namespace dunlin::datatype
