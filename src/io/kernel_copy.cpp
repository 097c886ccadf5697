#include "io/kernel_copy.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/little_behind.hpp"
#include "base/variable.hpp"
#include "copy/copy.hpp"
#include "io/pages.hpp"

namespace dunlin::io {
namespace {

WordVariable detour{"FILE_DETOUR", "auto", "auto|always|never",
                    "whether what lies a little behind its place in the file, modulo a page, or before, is "
                    "read and written through other memory; auto: where the kernel copies slowly there"};

constexpr std::size_t kTriedBytes = 4 * kPageBytes;

/// The shortest of some reads from a pipe to memory that lies so far behind, modulo a page: of a file would
/// be the same, but the program may have forbidden itself to write one.
std::chrono::nanoseconds time_of_reads(const int* pipe, std::byte* page, std::size_t behind) noexcept {
  constexpr int kReads = 5;
  auto shortest = std::chrono::nanoseconds::max();
  for (int i = 0; i < kReads; ++i) {
    if (write(pipe[1], page, kTriedBytes) != ssize_t(kTriedBytes)) return std::chrono::nanoseconds::zero();
    const auto begin = std::chrono::steady_clock::now();
    if (read(pipe[0], page + behind, kTriedBytes) < 0) return std::chrono::nanoseconds::zero();
    shortest = std::min<std::chrono::nanoseconds>(shortest, std::chrono::steady_clock::now() - begin);
  }
  return shortest;
}

/// Some 60 us.
bool try_it() noexcept {
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  const std::unique_ptr<std::byte[]> memory(new std::byte[kTriedBytes + 2 * kPageBytes]());
  const auto at = reinterpret_cast<std::uintptr_t>(memory.get());
  std::byte* const page = memory.get() + (-at % kPageBytes);
  const auto far = time_of_reads(pipe, page, 64), near = time_of_reads(pipe, page, 16);
  close(pipe[0]);
  close(pipe[1]);
  return near > far * 3 / 2;  // one more copy within the cache costs less
}

/// Whether what is copied from `from` to `to`, in memory or in a file, takes longer than through memory in
/// between that lies like the file.
bool kernel_copies_slowly(const std::byte* to, const std::byte* from) noexcept {
  const char* const wanted = detour.get();
  if (!is_little_behind(to, from) || std::strcmp(wanted, "never") == 0) return false;
  if (std::strcmp(wanted, "always") == 0) return true;
  static const bool is_slow = try_it();
  return is_slow;
}

/// The call, again while it is interrupted; one that moves less than `bytes_min` and gives no reason would
/// lose the rest silently.
template <class Call>
ssize_t finish(const Call& call, ssize_t bytes_min) noexcept {
  for (;;) {
    const ssize_t moved = call();
    if (moved >= bytes_min) return moved;
    if (moved == 0) errno = EIO;
    if (errno != EINTR) return -1;
  }
}

/// By one call, as much of it as the kernel moves.
ssize_t move_one(int descriptor, Direction direction, void* at, std::size_t bytes,
                 std::int64_t offset) noexcept {
  bytes = std::min(bytes, kCallBytes);
  if (direction == Direction::read) return finish([&] { return pread(descriptor, at, bytes, offset); }, 0);
  return finish([&] { return pwrite(descriptor, at, bytes, offset); }, 1);
}

ssize_t move_by_detour(int descriptor, Direction direction, std::byte* at, std::size_t bytes,
                       std::int64_t offset) noexcept {
  bytes = std::min(bytes, kPackBytes);
  std::byte* const near = scratch(bytes, offset);
  if (direction == Direction::write) copy::bytes(near, at, bytes);
  const ssize_t moved = move_one(descriptor, direction, near, bytes, offset);
  if (direction == Direction::read && moved > 0) copy::bytes(at, near, std::size_t(moved));
  return moved;
}

}  // namespace

std::byte* scratch(std::size_t bytes, std::int64_t offset) noexcept {
  static thread_local std::unique_ptr<std::byte[]> memory;
  static thread_local std::size_t size = 0;
  const std::size_t needed = bytes + 2 * kPageBytes;
  if (needed > size) {
    memory.reset(new std::byte[needed]);
    size = needed;
  }
  const auto at = reinterpret_cast<std::uintptr_t>(memory.get());
  return memory.get() + -at % kPageBytes + std::size_t(offset) % kPageBytes;
}

bool takes_detour(Direction direction, const std::byte* at, std::size_t bytes, std::int64_t offset) noexcept {
  const auto* const in_file = reinterpret_cast<const std::byte*>(offset);
  if (bytes < kPieceBytes) return false;
  return direction == Direction::read ? kernel_copies_slowly(at, in_file) : kernel_copies_slowly(in_file, at);
}

bool fails(Outcome& outcome, std::int64_t offset) noexcept {
  outcome.reason = errno;
  outcome.offset = offset;
  return false;
}

ssize_t move_some(int descriptor, Direction direction, const iovec* pieces, int count,
                  std::int64_t offset) noexcept {
  if (count == 1)  // a list costs the kernel 100 ns more (docs/files.md)
    return move_one(descriptor, direction, pieces->iov_base, pieces->iov_len, offset);
  if (direction == Direction::read)
    return finish([&] { return preadv(descriptor, pieces, count, offset); }, 0);
  return finish([&] { return pwritev(descriptor, pieces, count, offset); }, 1);
}

std::size_t move_all(int descriptor, Direction direction, std::byte* at, std::size_t bytes,
                     std::int64_t offset, Outcome& outcome) noexcept {
  const bool has_detour = takes_detour(direction, at, bytes, offset);
  std::size_t done = 0;
  while (done < bytes) {
    const std::int64_t there = offset + std::int64_t(done);
    const ssize_t moved = has_detour
                              ? move_by_detour(descriptor, direction, at + done, bytes - done, there)
                              : move_one(descriptor, direction, at + done, bytes - done, there);
    if (moved < 0) fails(outcome, there);
    if (moved <= 0) break;
    done += std::size_t(moved);
  }
  return done;
}

}  // namespace dunlin::io
