// The kinds of memory that buffers may lie in.
#pragma once

#include "object/info.hpp"

namespace dunlin {

/// What each session, communicator, window and file says of them (MPI 5.0, 11.4.3).
inline void show_memory_kinds(Info& used) { used.set("mpi_memory_alloc_kinds", "mpi,system"); }

}  // namespace dunlin
