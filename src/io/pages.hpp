// Writing long pieces straight to the pages of a file in memory, and making those pages large.  Used by
// io/storage.cpp.
//
// The kernel lets one process at a time write to a file, so several that write at once are as slow as one.
// Each can copy to the pages of its part by itself: they are mapped, and the kernel copies there.  The
// kernel, not the program, as the file may be cut or the file system full meanwhile: that is an error of the
// call then, and no signal.  One process alone is faster by pwrite, so whoever writes is counted.
//
// A file in memory consists of small pages, and the kernel looks up each whenever it reads or writes.  Where
// 2 MiB that nobody has written yet are written whole, they become one large page first: then writing,
// rewriting and reading are about twice as fast for everybody (docs/decisions/0032-pages-of-files.md).
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "datatype/cursor.hpp"
#include "transport/shm/commons.hpp"

namespace dunlin::io {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLargePageBytes = 2 << 20;
constexpr auto kLarge = std::int64_t(kLargePageBytes);  // in offsets
// Mapping costs what it saves where less is written (docs/decisions/0032-pages-of-files.md).
constexpr std::size_t kPagesBytesMin = 256 << 10;

/// Before all of [at, at + kLargePageBytes) is written; `at` is a multiple of it.  Where the file has nothing
/// there, it becomes one large page of zeros, and the file reaches to its end.  False: nothing is lost.
bool try_make_large_page(int descriptor, std::int64_t at) noexcept;

/// What is known about the pages of a piece that is written.
enum class Pages : std::uint8_t {
  unknown,
  large,  // probably: worth while for one process alone, too
  made    // just now, so they are there
};

constexpr std::size_t kRunsMax = 256;

/// Writes what lies from `memory` on to runs of the file, at most so many, which grow and whose addresses are
/// their offsets, straight to its pages. How many runs are written; fewer, or none, as below.
std::size_t write_runs_to_pages(int descriptor, std::byte* memory, std::span<const Piece> runs) noexcept;

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
  /// Of a long one beside others, or to large pages: writes the first `bytes` of what lies in `pieces`, one
  /// behind the other, at `offset` of the file.  How many were written; fewer, or none, where it does not
  /// pay, the file has not all pages yet, or the kernel refuses: all that is left is to be written by pwrite,
  /// which finds out why.
  std::size_t write_pages(int descriptor, std::span<const iovec> pieces, std::int64_t offset,
                          std::size_t bytes, Pages pages) const noexcept;

 private:
  transport::shm::Number* const writers_;
};

}  // namespace dunlin::io
