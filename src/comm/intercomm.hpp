// Connecting two groups (intercomm.cpp); used by MPI_Intercomm_create and MPI_Intercomm_create_from_groups.
#pragma once

#include "comm/create.hpp"

namespace dunlin::comm {

struct Leaders {
  int local;   // rank in the local communicator
  int remote;  // rank in the communicator that the leaders share; counts at the local leader only
};

/// Collective over `local`; `peers` counts at its leader only.
Err connect(Comm& local, Comm* peers, Leaders who, int tag, Comm** newintercomm) noexcept;

}  // namespace dunlin::comm
