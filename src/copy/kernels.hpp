// The copy kernels of one processor family; only copy.cpp uses this.  Implemented by one of
// kernels_x86_64.cpp and kernels_portable.cpp, which CMake chooses.
#pragma once

#include <cstddef>

namespace dunlin::copy {

using Kernel = void (*)(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

struct Kernels {
  const char* name;
  Kernel lines;  // stores of whole lines, as wide as there are: the result may lie in another core's cache
  Kernel streaming;  // stores that bypass the cache, fenced at the end
};

/// The best kernels for this processor.
Kernels detect_kernels() noexcept;

}  // namespace dunlin::copy
