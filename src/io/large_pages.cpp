// Large pages of files in memory (io/pages.hpp): which parts of a file become some, and what is written there
// without `pwrite`.
#include <algorithm>

#include "copy/copy.hpp"
#include "datatype/cursor.hpp"
#include "io/kernel_copy.hpp"
#include "io/pages.hpp"
#include "io/storage.hpp"

namespace dunlin::io {
namespace {

/// To where a large page begins.
std::int64_t round_up(std::int64_t offset) noexcept {
  return offset > INT64_MAX - kLarge ? offset : (offset + kLarge - 1) & -kLarge;
}

/// Whether the data of [low, high) lies all over it: of 64 equal shares none reaches more than twice as far
/// as the others on average.
bool lies_evenly(const Tiling& file, std::int64_t low, std::int64_t high) noexcept {
  constexpr std::int64_t kShares = 64;
  const std::int64_t first = file.position_at(low), bytes = file.position_at(high) - first;
  std::int64_t from = low;
  for (std::int64_t share = 1; share <= kShares; ++share) {
    const std::int64_t to = share < kShares ? file.offset_of(first + bytes * share / kShares) : high;
    if (to - from > 2 * (high - low) / kShares) return false;
    from = to;
  }
  return true;
}

}  // namespace

/// To a file in memory: straight to its pages, or alone to small ones by pwrite.
std::size_t Storage::write_long(const Writing& writing, std::byte* at, std::size_t bytes, std::int64_t offset,
                                Outcome& outcome) const noexcept {
  const bool has_detour = takes_detour(Direction::write, at, bytes, offset);
  const std::size_t most = has_detour ? kPackBytes : kLargePageBytes;
  std::size_t done = 0;
  for (std::size_t moved = 0, wanted = 0; done < bytes && moved == wanted; done += moved) {
    const std::int64_t there = offset + std::int64_t(done);
    const std::size_t in_page = std::size_t(there) % kLargePageBytes;
    const bool is_made = in_page == 0 && bytes - done >= kLargePageBytes && make_large_page(there);
    wanted = std::min({bytes - done, kLargePageBytes - in_page, most});
    std::byte* const near = has_detour ? scratch(wanted, there) : at + done;
    if (has_detour) copy::bytes(near, at + done, wanted);
    // The kernel notes by pwrite only that the file has changed: the last page is left to it.
    const iovec part{near, done + wanted < bytes ? wanted : wanted - std::min(wanted, kPageBytes)};
    moved = writing.write_pages(descriptor_, {&part, 1}, there, part.iov_len, pages_are(is_made));
    moved += move_all(descriptor_, Direction::write, near + moved, wanted - moved,
                      there + std::int64_t(moved), outcome);
  }
  return done;
}

bool Storage::make_large_page(std::int64_t at) const noexcept {
  const bool is_made = is_readable_ && try_make_large_page(descriptor_, at);  // else it cannot be mapped
  // Relaxed: whoever has not heard of it writes slower.
  if (is_made) has_large_pages_.store(true, std::memory_order_relaxed);
  return is_made;
}

Pages Storage::pages_are(bool are_made) const noexcept {
  if (are_made) return Pages::made;
  return has_large_pages_.load(std::memory_order_relaxed) ? Pages::large : Pages::unknown;
}

void Storage::make_large_pages(std::int64_t low, std::int64_t high, int first, int step) const noexcept {
  if (!is_in_memory()) return;
  const std::int64_t begin = round_up(low), pages = (high - begin) / kLarge;
  for (std::int64_t page = first; page < pages; page += step) (void)make_large_page(begin + page * kLarge);
}

/// Of what begins in [low, high), or holds `low`, those that this access reaches the end of, and that become
/// whole: by others, if they come, so that it has half of an equal share itself; or as windows fill short
/// gaps.
void Storage::make_large_pages_of(const Access& access, std::int64_t low, std::int64_t high,
                                  bool fills_gaps) const noexcept {
  if (!fills_gaps && access.filled_from == INT64_MAX) return;
  const std::int64_t shares = 2 * access.filled_by;  // so many times what is written, a file takes at most
  const auto bytes_of = [&](std::int64_t page) {
    return access.file.position_at(page + kLarge) - std::max(access.file.position_at(page), access.position);
  };
  const std::int64_t end = access.file.end_of(access.position, std::int64_t(access.memory.bytes()));
  const std::int64_t first = low / kLarge * kLarge;
  for (std::int64_t page = first >= access.filled_from ? first : round_up(low);
       page < high && page <= end - kLarge; page += kLarge)
    if ((page >= access.filled_from && bytes_of(page) >= kLarge / shares) ||
        (fills_gaps && page >= low && lies_evenly(access.file, page, page + kLarge)))
      (void)make_large_page(page);
}

/// The first of some runs, whose memory begins at the cursor; how many.
std::size_t Storage::write_to_large_pages(const Access& access, Cursor& memory, std::span<const Piece> runs,
                                          Outcome& outcome) const noexcept {
  // Else more pages would be looked up than are written; who shares them with others finds them large.
  const std::int64_t density = std::max(8, 2 * access.filled_by);
  const std::span<const Piece> first = runs.first(runs.size() - 1);  // as by `write_long`
  if (first.empty() || !access.memory.is_contiguous() || pages_are(false) != Pages::large) return 0;
  std::int64_t bytes = 0;
  for (const Piece& run : first) bytes += std::int64_t(run.bytes);
  const auto offset_of = [](const Piece& run) { return reinterpret_cast<std::int64_t>(run.address); };
  if (offset_of(first.back()) - offset_of(first.front()) > density * bytes) return 0;
  const std::size_t begin = memory.position();
  const std::size_t done = write_runs_to_pages(descriptor_, access.memory.at + begin, first);
  bytes = 0;
  for (const Piece& run : first.first(done)) bytes += std::int64_t(run.bytes);
  memory.seek(begin + std::size_t(bytes));
  outcome.bytes += bytes;
  return done;
}

}  // namespace dunlin::io
