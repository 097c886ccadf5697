// Splitting without the checks of MPI_Comm_split (split.cpp); used by split_type.cpp and create_comm.cpp.
#pragma once

#include "base/err.hpp"
#include "object/comm.hpp"

namespace dunlin::comm {

/// Collective over `comm`; `color` may be MPI_UNDEFINED, then `*newcomm` becomes nullptr.
Err split(Comm& comm, int color, int key, Comm** newcomm) noexcept;

}  // namespace dunlin::comm
