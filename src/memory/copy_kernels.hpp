// The copy kernels of one processor family; only copy.cpp uses this.  Implemented by one of copy_x86_64.cpp
// and copy_portable.cpp, which CMake chooses.
#pragma once

#include <cstddef>

namespace dunlin::memory {

using CopyKernel = void (*)(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

struct CopyKernels {
  const char* name;
  CopyKernel plain;      // up to tens of kilobytes
  CopyKernel string;     // larger: the processor's own block move, or the same as plain
  CopyKernel streaming;  // stores that bypass the cache, fenced at the end
};

/// The best kernels for this processor.
CopyKernels detect_copy_kernels() noexcept;

}  // namespace dunlin::memory
