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
  const bool is_read = direction == Direction::read;
  for (;;) {
    ssize_t moved;
    if (count == 1) {  // a list costs the kernel 100 ns more (docs/files.md)
      moved = is_read ? pread(descriptor, pieces->iov_base, pieces->iov_len, offset)
                      : pwrite(descriptor, pieces->iov_base, pieces->iov_len, offset);
    } else {
      moved =
          is_read ? preadv(descriptor, pieces, count, offset) : pwritev(descriptor, pieces, count, offset);
    }
    if (moved == 0 && !is_read) errno = EIO;  // else it would be lost silently
    if (moved > 0 || (moved == 0 && is_read)) return moved;
    if (errno != EINTR) return -1;
  }
}

std::size_t move_all(int descriptor, Direction direction, std::byte* at, std::size_t bytes,
                     std::int64_t offset, Outcome& outcome) noexcept {
  const bool has_detour = takes_detour(direction, at, bytes, offset);
  std::size_t done = 0;
  while (done < bytes) {
    const std::int64_t there = offset + std::int64_t(done);
    iovec rest{at + done, std::min(bytes - done, has_detour ? kPackBytes : kCallBytes)};
    if (has_detour) rest.iov_base = scratch(rest.iov_len, there);
    auto* const near = static_cast<std::byte*>(rest.iov_base);
    if (has_detour && direction == Direction::write) copy::bytes(near, at + done, rest.iov_len);
    const ssize_t moved = move_some(descriptor, direction, &rest, 1, there);
    if (moved < 0) fails(outcome, there);
    if (moved <= 0) break;
    if (has_detour && direction == Direction::read) copy::bytes(at + done, near, std::size_t(moved));
    done += std::size_t(moved);
  }
  return done;
}

}  // namespace dunlin::io
