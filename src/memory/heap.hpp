// The shared heap of this process: the preloaded allocator's when there is one, else an arena of the
// library's own.
//
// Called by the providers and the registry in this folder; others use `allocate`, `release` and `is_shared`
// of peer_memory.hpp.
#pragma once

#include "memory/heap_face.hpp"

namespace dunlin::memory {

/// The table of the heap in use; the first call opens it.  Thread safe.
const HeapFace& heap() noexcept;

/// "preloaded" or "built in", for reports.
const char* heap_origin() noexcept;

/// Moves static data where that is still to be done and allowed (one thread only).  "" when it is moved, else
/// why not.
const char* move_static_data() noexcept;

}  // namespace dunlin::memory
