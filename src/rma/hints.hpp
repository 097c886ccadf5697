// Info keys of windows (MPI 5.0, 12.2.1).  Used by create.cpp and inquiry.cpp.
#pragma once

#include "object/info.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {

/// Takes over the keys of the standard from `info`, which may be null; all others are ignored.  The first
/// time those that it lacks get the standard's presets, as MPI_Win_get_info has to show them.
void set_hints(Window& window, const Info* info) noexcept;
/// Whether the key is "true".
bool has_hint(const Window& window, const char* key) noexcept;

}  // namespace dunlin::rma
