#include "heap/mapped_file.hpp"

#include <sys/mman.h>

#include <cstdint>

#include "base/assert.hpp"
#include "heap/layout.hpp"

namespace dunlin::heap {

/// Reserves with room to align, maps the file over the aligned part and gives the rest back.
std::byte* map_file_aligned(int descriptor, std::size_t bytes, int protection) noexcept {
  DUNLIN_ASSERT(bytes % kPageBytes == 0);
  const std::size_t reserved_bytes = bytes + kHugePageBytes;
  void* reserved =
      mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(reserved);
  const std::size_t skip = -reinterpret_cast<std::uintptr_t>(start) % kHugePageBytes;
  void* mapped =
      mmap(start + skip, bytes, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, descriptor, 0);
  if (mapped == MAP_FAILED) {
    munmap(start, reserved_bytes);
    return nullptr;
  }
  if (skip) munmap(start, skip);
  munmap(start + skip + bytes, kHugePageBytes - skip);
  return static_cast<std::byte*>(mapped);
}

}  // namespace dunlin::heap
