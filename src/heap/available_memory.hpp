// How much memory this process could use: what the machine has, and what is free of it; less where a control
// group allows less.
//
// Asked by the arena before it commits pages that the program has not touched yet.  Works below malloc.
#pragma once

#include <cstddef>

namespace dunlin::heap {

/// Bytes.
struct Memory {
  std::size_t total = 0, free = 0;
};

/// Zeros when nothing is known.  Cost: a few microseconds for each level of control groups.
Memory available_memory() noexcept;

/// The same for a process whose files lie under `root` instead of / (tests).
Memory available_memory(const char* root, Memory machine) noexcept;

}  // namespace dunlin::heap
