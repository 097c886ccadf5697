// One part of a file by the kernel's calls: as many as it takes, and through other memory where the kernel
// copies slowly between the program's memory and its place in the file.  Used by io/storage.cpp.
//
// Thread safety: threads may move parts at once.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "io/storage.hpp"

namespace dunlin::io {

constexpr std::size_t kPieceBytes = 512;        // shorter pieces of memory are packed
constexpr std::size_t kPackBytes = 256 << 10;   // at once
constexpr std::size_t kCallBytes = 0x7ffff000;  // the kernel moves no more in one call

/// Memory for a part of the file at that offset, which lies in its pages as in those of the file; a thread
/// keeps what it has had.
std::byte* scratch(std::size_t bytes, std::int64_t offset) noexcept;

/// Whether a run is moved faster through `scratch`.
bool takes_detour(Direction direction, const std::byte* at, std::size_t bytes, std::int64_t offset) noexcept;

/// Notes the error that errno names.
bool fails(Outcome& outcome, std::int64_t offset) noexcept;

/// One call of the kernel that moves something; 0 at the end of a file that is read, -1 with errno.
ssize_t move_some(int descriptor, Direction direction, const iovec* pieces, int count,
                  std::int64_t offset) noexcept;

/// All bytes, in as many calls as it takes; fewer only at the end of the file or with an error.
std::size_t move_all(int descriptor, Direction direction, std::byte* at, std::size_t bytes,
                     std::int64_t offset, Outcome& outcome) noexcept;

}  // namespace dunlin::io
