// The allocator below ours, normally the C library's, and whether ours has to step aside for this program.
//
// Called by malloc.cpp only.  docs/memory.md, "Stepping aside".
#pragma once

#include <cstddef>

namespace dunlin::heap {

struct NextAllocator {
  void* (*allocate)(std::size_t);
  void* (*allocate_zeroed)(std::size_t, std::size_t);
  void* (*reallocate)(void*, std::size_t);
  void* (*allocate_aligned)(std::size_t, std::size_t);
  void (*release)(void*);
  std::size_t (*usable_bytes)(void*);
};

/// Looks up the allocator that the program would have without this library.
NextAllocator find_next_allocator() noexcept;

/// One sentence why malloc must not use the shared heap in this process; "" when it may.  `own_malloc` is our
/// malloc.
const char* why_step_aside(const NextAllocator& next, const void* own_malloc,
                           char* const* environment) noexcept;

}  // namespace dunlin::heap
