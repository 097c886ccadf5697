#include "io/pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/assert.hpp"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; older headers lack it
#endif

namespace dunlin::io {
namespace {

constexpr std::int64_t kBlockBytes = 512;  // of st_blocks

// False for good where the kernel is older than Linux 5.14, or a container forbids it: each attempt would map
// pages in vain.  Relaxed: a thread that has not heard of it yet tries once more.
std::atomic<bool> is_possible{true};

void note_impossible(bool is_for_good) noexcept {
  if (is_for_good) is_possible.store(false, std::memory_order_relaxed);
}

// Failures to make a large page, one after the other: the kernel cannot, or finds no memory in one piece.
constexpr int kFailuresMax = 16;
std::atomic<int> failures{0};  // relaxed, as above

/// Bytes [offset, offset + bytes) of a file, at an address at which large pages can be mapped.
class Mapping {
 public:
  Mapping(int descriptor, std::int64_t offset, std::size_t bytes) noexcept {
    const std::int64_t low = offset / kLarge * kLarge;
    const std::size_t length = (std::size_t(offset - low) + bytes + kLargePageBytes - 1) & -kLargePageBytes;
    bytes_ = length + kLargePageBytes;
    all_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all_ == MAP_FAILED) return;
    const std::uintptr_t begin = (std::uintptr_t(all_) + kLargePageBytes - 1) & -kLargePageBytes;
    void* const file = mmap(reinterpret_cast<void*>(begin), length, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_FIXED, descriptor, low);
    if (file != MAP_FAILED) at_ = static_cast<std::byte*>(file) + (offset - low);
  }
  ~Mapping() {
    if (all_ != MAP_FAILED) munmap(all_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  std::byte* at() const noexcept { return at_; }  // null: it could not be mapped

 private:
  void* all_ = MAP_FAILED;
  std::size_t bytes_ = 0;
  std::byte* at_ = nullptr;
};

/// So that the kernel finds them: 16 small pages at a time; a fault at each when it is first written to would
/// cost as much as pwrite.
bool look_up(std::byte* at, std::size_t bytes) noexcept {
  const std::size_t before = std::uintptr_t(at) % kPageBytes;
  if (madvise(at - before, before + bytes, MADV_POPULATE_READ) == 0) return true;
  note_impossible(errno == EINVAL);  // not known here
  return false;
}

/// Whether a file has all pages up to there.  A mapping would fill holes with zeros first.
bool is_all_there(int descriptor, std::int64_t end) noexcept {
  struct stat status;
  return fstat(descriptor, &status) == 0 && status.st_size >= end &&
         status.st_blocks * kBlockBytes >= status.st_size;
}

/// Whether a file has no page in [at, at + kLarge).
bool is_empty(int descriptor, std::int64_t at) noexcept {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return false;
  if (at >= status.st_size) return true;
  if (status.st_blocks * kBlockBytes >= status.st_size) return false;  // no holes
  const off_t data = lseek(descriptor, at, SEEK_DATA);  // nothing else uses the place that this sets
  return data < 0 ? errno == ENXIO : data >= at + kLarge;
}

}  // namespace

bool try_make_large_page(int descriptor, std::int64_t at) noexcept {
  DUNLIN_ASSERT(at >= 0 && at % kLarge == 0);
  if (failures.load(std::memory_order_relaxed) >= kFailuresMax || !is_empty(descriptor, at)) return false;
  // One page has to be there, and within the file; this changes no byte that others may write meanwhile.
  if (at > INT64_MAX - kLarge || fallocate(descriptor, 0, at, kPageBytes) != 0) return false;
  const Mapping page(descriptor, at, kLargePageBytes);
  if (!page.at() || madvise(page.at(), kLargePageBytes, MADV_COLLAPSE) != 0) {
    failures.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  failures.store(0, std::memory_order_relaxed);
  return fallocate(descriptor, 0, at, kLarge) == 0;  // the file reaches so far now
}

std::size_t write_runs_to_pages(int descriptor, std::byte* memory, std::span<const Piece> runs) noexcept {
  DUNLIN_ASSERT(!runs.empty() && runs.size() <= kRunsMax);
  const auto offset_of = [](const Piece& run) { return reinterpret_cast<std::int64_t>(run.address); };
  const std::int64_t low = offset_of(runs.front());
  const std::int64_t high = offset_of(runs.back()) + std::int64_t(runs.back().bytes);
  if (!is_possible.load(std::memory_order_relaxed) || !is_all_there(descriptor, high)) return 0;
  const Mapping mapping(descriptor, low, std::size_t(high - low));
  if (!mapping.at() || !look_up(mapping.at(), std::size_t(high - low))) return 0;
  iovec to[kRunsMax], from{memory, 0};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    to[i] = {mapping.at() + (offset_of(runs[i]) - low), runs[i].bytes};
    from.iov_len += runs[i].bytes;
  }
  const ssize_t moved = process_vm_readv(getpid(), to, runs.size(), &from, 1, 0);
  note_impossible(moved < 0 && (errno == EPERM || errno == ENOSYS));
  std::size_t done = 0;
  for (auto left = moved; done < runs.size() && left >= ssize_t(runs[done].bytes); ++done)
    left -= ssize_t(runs[done].bytes);
  return done;
}

std::size_t Writing::write_pages(int descriptor, std::span<const iovec> pieces, std::int64_t offset,
                                 std::size_t bytes, Pages pages) const noexcept {
  DUNLIN_ASSERT(is_long() && offset >= 0);
  const bool pays = pages != Pages::unknown || writers_->load(std::memory_order_relaxed) > 1;
  if (!pays || bytes == 0 || !is_possible.load(std::memory_order_relaxed)) return 0;
  if (pages != Pages::made && !is_all_there(descriptor, offset + std::int64_t(bytes))) return 0;
  const Mapping mapping(descriptor, offset, bytes);
  if (!mapping.at() || !look_up(mapping.at(), bytes)) return 0;
  // The kernel looks up the pages of what it is told to be another process's: of the pieces one by one, or
  // at once those of the file.  A single piece is copied faster so (docs/decisions/0032-pages-of-files.md).
  const iovec to{mapping.at(), bytes};
  const ssize_t moved = pieces.size() == 1
                            ? process_vm_readv(getpid(), &to, 1, pieces.data(), 1, 0)
                            : process_vm_writev(getpid(), pieces.data(), pieces.size(), &to, 1, 0);
  note_impossible(moved < 0 && (errno == EPERM || errno == ENOSYS));
  DUNLIN_ASSERT(moved <= ssize_t(bytes));
  return moved > 0 ? std::size_t(moved) : 0;
}

}  // namespace dunlin::io
