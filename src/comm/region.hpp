// Shared memory for the collectives of a new communicator (coll/region.hpp).
//
// Whoever leads the creation takes some from what it has to give away and names it in the context
// (comm/process.hpp), so that all members know without a message where it is, or that there is none.
#pragma once

#include "comm/process.hpp"

namespace dunlin::comm {

/// For a communicator that has its context and its group.
void share_memory(Comm& made) noexcept;

}  // namespace dunlin::comm
