// Checks of the arrays of collectives whose blocks differ: the v- and w-forms (MPI_Alltoallv, MPI_Gatherv,
// MPI_Neighbor_alltoallw, ...).  Used by the generated bindings.
//
// Cost: one look at each count (and datatype), which the collective itself has, too.
#pragma once

#include <cstdint>

#include "bindings/c/check.hpp"
#include "datatype/datatype.hpp"
#include "object/int_array.hpp"

namespace dunlin::bindings {

/// One side of a call, with the names that the standard gives to its arguments.
struct BlockArguments {
  int blocks;
  const void* buffer;
  const char* buffer_name;
  IntArray counts;
  const char* counts_name;
  IntArray displs = {};
  const char* displs_name = nullptr;  // null: blocks lie one behind the other
  const Datatype* type = nullptr;     // the v-forms'
  const MPI_Datatype* types = nullptr;
  const char* types_name = nullptr;  // null: a v-form
};

/// MPI_SUCCESS, or the code of the first error, which has been raised.
int check_blocks(Comm* comm, const BlockArguments& arguments, const char* call) noexcept;

/// Blocks of a neighborhood collective; none where the communicator has no topology, which is found later.
int source_count(const Comm& comm) noexcept;
int destination_count(const Comm& comm) noexcept;

}  // namespace dunlin::bindings
