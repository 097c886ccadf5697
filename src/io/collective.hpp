// Collective accesses whose ranks have many short pieces of the same part of the file (docs/files.md).
//
// Called by io/transfer.cpp for blocking calls.
#pragma once

#include "io/file.hpp"

namespace dunlin::io {

/// Collective over the file's ranks; what comes out is this rank's part.
Outcome move_together(OpenFile& file, const Access& access) noexcept;

}  // namespace dunlin::io
