#include "io/pages.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/assert.hpp"

namespace dunlin::io {
namespace {

// False for good where the kernel is older than Linux 5.14, or a container forbids it: each attempt would map
// pages in vain.  Relaxed: a thread that has not heard of it yet tries once more.
std::atomic<bool> is_possible{true};

void note_impossible(bool is_for_good) noexcept {
  if (is_for_good) is_possible.store(false, std::memory_order_relaxed);
}

}  // namespace

std::size_t Writing::write_pages(int descriptor, std::span<const iovec> pieces, std::int64_t offset,
                                 std::size_t bytes) const noexcept {
  DUNLIN_ASSERT(is_long() && offset >= 0);
  const bool is_beside_others = writers_->load(std::memory_order_relaxed) > 1;
  if (!is_beside_others || bytes == 0 || !is_possible.load(std::memory_order_relaxed)) return 0;
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
    // The kernel looks up the pages of what it is told to be another process's: of the pieces one by one, or
    // at once those of the file.  A single piece is copied faster so (docs/decisions/0023-files.md).
    const iovec to{static_cast<std::byte*>(mapped) + before, bytes};
    moved = pieces.size() == 1 ? process_vm_readv(getpid(), &to, 1, pieces.data(), 1, 0)
                               : process_vm_writev(getpid(), pieces.data(), pieces.size(), &to, 1, 0);
    note_impossible(moved < 0 && (errno == EPERM || errno == ENOSYS));
  } else {
    note_impossible(errno == EINVAL);  // not known here
  }
  munmap(mapped, length);
  DUNLIN_ASSERT(moved <= ssize_t(bytes));
  return moved > 0 ? std::size_t(moved) : 0;
}

}  // namespace dunlin::io
