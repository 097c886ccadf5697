// Copy kernels for processors that have no file of their own: the C library's.
#include <cstring>

#include "memory/copy_kernels.hpp"

namespace dunlin::memory {
namespace {
void library_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}
}  // namespace

CopyKernels detect_copy_kernels() noexcept { return {"portable", library_copy, library_copy, library_copy}; }

}  // namespace dunlin::memory
