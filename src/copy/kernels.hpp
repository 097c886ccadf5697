// The copy kernels of one processor family; only copy.cpp uses this.  Implemented by one of
// kernels_x86_64.cpp and kernels_portable.cpp, which CMake chooses.
#pragma once

#include <cstddef>

namespace dunlin::copy {

using Kernel = void (*)(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

struct Kernels {
  const char* name;
  Kernel plain;      // up to tens of kilobytes
  Kernel string;     // larger: the processor's own block move, or the same as plain
  Kernel streaming;  // stores that bypass the cache, fenced at the end
};

/// The best kernels for this processor.
Kernels detect_kernels() noexcept;

}  // namespace dunlin::copy
