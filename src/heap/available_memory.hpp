// How much memory this process could still use: what is free on the machine, less where its control group
// allows less.
//
// Called by the arena before it commits pages of a block that the program has not touched yet.  Works below
// malloc.
#pragma once

#include <cstddef>

namespace dunlin::heap {

/// Bytes; 0 when nothing is known.  Cost: a few microseconds for each level of control groups.
std::size_t available_memory() noexcept;

/// The same for a process whose files lie under `root` instead of / (tests).
std::size_t available_memory(const char* root, std::size_t machine_bytes) noexcept;

}  // namespace dunlin::heap
