// Writing long pieces straight to the pages of a file in memory.  Used by io/storage.cpp.
//
// The kernel lets one process at a time write to a file, so several that write at once are as slow as one.
// Each can copy to the pages of its part by itself: they are mapped, and the kernel copies there.  The
// kernel, not the program, as the file may be cut or the file system full meanwhile: that is an error of the
// call then, and no signal.  One process alone is faster by pwrite, so whoever writes is counted.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/shm/commons.hpp"

namespace dunlin::io {

constexpr std::size_t kPageBytes = 4096;
// Mapping costs what it saves where less is written (docs/decisions/0023-files.md).
constexpr std::size_t kPagesBytesMin = 256 << 10;
// At once: what is mapped, and the tables for it, stay in the cache.
constexpr std::size_t kPagesBytesMax = 1 << 20;

/// A write, while it is under way.
class Writing {
 public:
  /// Of `bytes` in all.  `writers` counts the long ones of all processes of the node; null: nobody does.
  Writing(transport::shm::Number* writers, std::size_t bytes) noexcept
      : writers_(bytes >= kPagesBytesMin ? writers : nullptr) {
    // Relaxed, here and below: whoever misses another waits for it in pwrite.
    if (writers_) writers_->fetch_add(1, std::memory_order_relaxed);
  }
  ~Writing() {
    if (writers_) writers_->fetch_sub(1, std::memory_order_relaxed);
  }
  Writing(const Writing&) = delete;
  /// Whether it is counted.
  bool is_long() const noexcept { return writers_ != nullptr; }
  /// Of a long one beside others: writes the first `bytes` of what lies in `pieces`, one behind the other, at
  /// `offset` of the file.  How many were written; fewer, or none, where nobody else writes, the file has not
  /// all pages yet, or the kernel refuses: all that is left is to be written by pwrite, which finds out why.
  std::size_t write_pages(int descriptor, std::span<const iovec> pieces, std::int64_t offset,
                          std::size_t bytes) const noexcept;

 private:
  transport::shm::Number* const writers_;
};

}  // namespace dunlin::io
