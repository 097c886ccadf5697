#include "io/pages.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.hpp"

namespace dunlin::io {

std::size_t write_pages(int descriptor, std::span<const iovec> pieces, std::int64_t offset,
                        std::size_t bytes) noexcept {
  DUNLIN_ASSERT(bytes > 0 && offset >= 0);
  constexpr std::int64_t kBlockBytes = 512;
  struct stat status;
  if (fstat(descriptor, &status) != 0 || status.st_size < offset + std::int64_t(bytes)) return 0;
  if (status.st_blocks * kBlockBytes < status.st_size) return 0;  // a hole, which a mapping fills with zeros
  const std::size_t before = std::size_t(offset) % kPageBytes, length = before + bytes;
  void* const mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                            offset - std::int64_t(before));
  if (mapped == MAP_FAILED) return 0;
  ssize_t moved = 0;
  // Finds 16 pages at a time; a fault at each when it is first written to would cost as much as pwrite does.
  if (madvise(mapped, length, MADV_POPULATE_READ) == 0) {
    const iovec to{static_cast<std::byte*>(mapped) + before, bytes};
    moved = process_vm_readv(getpid(), &to, 1, pieces.data(), pieces.size(), 0);
  }
  munmap(mapped, length);
  DUNLIN_ASSERT(moved <= ssize_t(bytes));
  return moved > 0 ? std::size_t(moved) : 0;
}

}  // namespace dunlin::io
