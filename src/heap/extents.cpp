#include "heap/extents.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "base/assert.hpp"

namespace dunlin::heap {
namespace {
constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t to) noexcept {
  return (value + to - 1) & ~(to - 1);
}
constexpr int kTriesPerBin =
    8;  // a list may hold runs that are just too short or badly aligned; do not walk them all
constexpr std::uint32_t kOpenEntries = 2048;  // of the table at a time: eight pages
}  // namespace

void Extents::init(Entry* table, std::uint32_t pages) noexcept {
  DUNLIN_ASSERT(table != nullptr);
  DUNLIN_ASSERT(pages > 1);
  *this = Extents{};
  table_ = table;
  pages_ = pages;
}

/// Lists: one per length below 8, then four per doubling.
int Extents::bin_of(std::uint32_t pages) noexcept {
  if (pages < 8) return int(pages);
  const int log = 31 - std::countl_zero(pages);
  return 8 + (log - 3) * 4 + int((pages >> (log - 2)) & 3);
}

void Extents::write(std::uint32_t first, std::uint32_t pages, std::uint32_t flags) noexcept {
  DUNLIN_ASSERT(pages > 0);
  table_[first].pages = pages;
  table_[first].flags = flags;
  table_[first + pages - 1].pages = pages;
  table_[first + pages - 1].flags = flags;
}

void Extents::set_flags(std::uint32_t first, std::uint32_t flags) noexcept {
  write(first, table_[first].pages, flags);
}

void Extents::link(std::uint32_t first) noexcept {
  const bool dirty = table_[first].flags & kDirty;
  const int bin = bin_of(table_[first].pages);
  std::uint32_t& head = bins_[dirty][bin];
  table_[first].previous = 0;
  table_[first].next = head;
  if (head) table_[head].previous = first;
  head = first;
  filled_[dirty][bin / 64] |= std::uint64_t{1} << (bin % 64);
  if (dirty) dirty_pages_ += table_[first].pages;
}

void Extents::unlink(std::uint32_t first) noexcept {
  const Entry& run = table_[first];
  const bool dirty = run.flags & kDirty;
  const int bin = bin_of(run.pages);
  if (run.next) table_[run.next].previous = run.previous;
  if (run.previous) {
    table_[run.previous].next = run.next;
  } else {
    DUNLIN_ASSERT(bins_[dirty][bin] == first);
    bins_[dirty][bin] = run.next;
    if (!run.next) filled_[dirty][bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
  }
  if (dirty) dirty_pages_ -= run.pages;
}

/// A free run of the wanted cleanliness that can hold the pages at the alignment; 0 when the first few are
/// too small.
std::uint32_t Extents::find(std::uint32_t pages, std::uint32_t alignment, bool dirty) noexcept {
  for (int bin = bin_of(pages); bin < kBins; ++bin) {
    const std::uint64_t word = filled_[dirty][bin / 64] >> (bin % 64);
    if (!word) {
      bin |= 63;  // no list left in this word
      continue;
    }
    bin += std::countr_zero(word);
    int tries = 0;
    for (std::uint32_t run = bins_[dirty][bin]; run && tries < kTriesPerBin; run = table_[run].next, ++tries)
      if (round_up(run, alignment) + pages <= run + table_[run].pages) return run;
  }
  return 0;
}

/// Cuts [first, first + pages) out of the free run and marks it used; what is left on both sides stays free.
std::uint32_t Extents::carve(std::uint32_t run, std::uint32_t first, std::uint32_t pages) noexcept {
  const std::uint32_t flags = table_[run].flags;
  const std::uint32_t end = run + table_[run].pages;
  DUNLIN_ASSERT(flags & kFree);
  DUNLIN_ASSERT(first + pages <= end);
  unlink(run);
  if (first > run) {
    write(run, first - run, flags);
    link(run);
  }
  if (end > first + pages) {
    write(first + pages, end - first - pages, flags);
    link(first + pages);
  }
  write(first, pages, kUsed | (flags & kDirty));
  used_pages_ += pages;
  return first;
}

/// The entries before `end`.
bool Extents::try_open_table(std::uint32_t end) noexcept {
  if (end <= open_) return true;
  const std::uint32_t to = round_up(end, kOpenEntries);
  // Behind the last entry nothing lies but the rest of its page.
  const std::uint32_t entries = (to < pages_ + 1 ? to : pages_ + 1) - open_;
  if (mprotect(table_ + open_, entries * sizeof(Entry), PROT_READ | PROT_WRITE) != 0) return false;
  open_ = to;
  return true;
}

std::uint32_t Extents::take_above(std::uint32_t pages, std::uint32_t alignment) noexcept {
  const std::uint32_t first = round_up(top_, alignment);
  if (std::uint64_t{first} + pages > pages_ || !try_open_table(first + pages)) return 0;
  const std::uint32_t gap = top_;
  top_ = first + pages;
  write(first, pages, kUsed);
  used_pages_ += pages;
  if (first > gap) join(gap, first - gap, kFree);
  return first;
}

std::uint32_t Extents::take(std::uint32_t pages, std::uint32_t alignment, bool want_clean) noexcept {
  DUNLIN_ASSERT(pages > 0);
  DUNLIN_ASSERT(std::has_single_bit(alignment));
  if (pages >= pages_) return 0;
  std::uint32_t run = want_clean ? 0 : find(pages, alignment, true);
  if (!run) run = find(pages, alignment, false);
  if (!run)
    if (const std::uint32_t first = take_above(pages, alignment)) return first;
  if (!run && want_clean) run = find(pages, alignment, true);
  return run ? carve(run, round_up(run, alignment), pages) : 0;
}

/// Makes a free run of these pages and its free neighbours of the same cleanliness.
std::uint32_t Extents::join(std::uint32_t first, std::uint32_t pages, std::uint32_t flags) noexcept {
  const auto is_alike = [&](std::uint32_t page) {
    return (table_[page].flags & kFree) && ((table_[page].flags ^ flags) & (kDirty | kFrozen)) == 0;
  };
  if (first > 1 && is_alike(first - 1)) {
    const std::uint32_t before = table_[first - 1].pages;
    unlink(first - before);
    first -= before;
    pages += before;
  }
  if (first + pages < top_ && is_alike(first + pages)) {
    const std::uint32_t behind = table_[first + pages].pages;
    unlink(first + pages);
    pages += behind;
  }
  write(first, pages, flags);
  link(first);
  return first;
}

std::uint32_t Extents::give(std::uint32_t first, bool dirty) noexcept {
  DUNLIN_ASSERT(first < top_);
  DUNLIN_ASSERT(table_[first].flags & kUsed);
  used_pages_ -= table_[first].pages;
  return join(first, table_[first].pages, kFree | (dirty ? std::uint32_t{kDirty} : 0u));
}

Extents::Stretch Extents::free_around(std::uint32_t first, std::uint32_t alignment) const noexcept {
  DUNLIN_ASSERT(table_[first].flags & kFree);
  std::uint32_t begin = first, end = first + table_[first].pages;
  const std::uint32_t least = begin / alignment * alignment, most = round_up(end, alignment);
  while (begin > least && begin > 1 && (table_[begin - 1].flags & kFree)) begin -= table_[begin - 1].pages;
  while (end < most && end < top_ && (table_[end].flags & kFree)) end += table_[end].pages;
  return {begin, end == top_ ? std::max(end, most) : end};
}

void Extents::clean(std::uint32_t first, std::uint32_t from, std::uint32_t to) noexcept {
  DUNLIN_ASSERT(first <= from);
  to = std::min(to, top_);
  for (Entry run = table_[first]; first < to;) {
    DUNLIN_ASSERT(run.flags & kFree);
    const std::uint32_t end = first + run.pages;
    const Entry behind = end < to ? table_[end] : Entry{};  // may be joined with what becomes clean here
    const std::uint32_t begin = std::max(first, from), most = std::min(end, to);
    if ((run.flags & kDirty) && begin < most) give(carve(first, begin, most - begin), false);
    first = end;
    run = behind;
  }
}

void Extents::renew(std::uint32_t first, bool keep) noexcept {
  DUNLIN_ASSERT(table_[first].flags & kFree);
  const std::uint32_t pages = table_[first].pages;
  unlink(first);
  if (keep) {
    join(first, pages, kFree);
  } else {
    write(first, pages, kUsed | kFrozen);
    used_pages_ += pages;
  }
}

bool Extents::try_grow(std::uint32_t first, std::uint32_t pages) noexcept {
  const Entry run = table_[first];
  DUNLIN_ASSERT(run.flags & kUsed);
  DUNLIN_ASSERT(pages > run.pages);
  const std::uint32_t end = first + run.pages;
  const std::uint32_t more = pages - run.pages;
  std::uint32_t flags = run.flags;
  if (end == top_) {
    if (std::uint64_t{first} + pages > pages_ || !try_open_table(first + pages)) return false;
    top_ = first + pages;
    used_pages_ += more;
  } else {
    const Entry behind = table_[end];
    if (!(behind.flags & kFree) || behind.pages < more) return false;
    carve(end, end, more);
    flags |= behind.flags & kDirty;
  }
  write(first, pages, flags);
  return true;
}

std::uint32_t Extents::shrink(std::uint32_t first, std::uint32_t pages) noexcept {
  const Entry run = table_[first];
  DUNLIN_ASSERT(run.flags & kUsed);
  DUNLIN_ASSERT(pages > 0);
  DUNLIN_ASSERT(pages < run.pages);
  write(first, pages, run.flags);
  write(first + pages, run.pages - pages, run.flags);
  return give(first + pages, true);
}

bool Extents::is_sound() const noexcept {
  std::uint64_t used = 0;
  std::uint64_t dirty = 0;
  std::uint32_t before = kUsed;
  for (std::uint32_t run = 1; run < top_; run += table_[run].pages) {
    const Entry& each = table_[run];
    const Entry& last = table_[run + each.pages - 1];
    if (each.pages == 0 || last.pages != each.pages || last.flags != each.flags) return false;
    if (bool(each.flags & kUsed) == bool(each.flags & kFree)) return false;
    if ((each.flags & kFree) && (before & kFree) && !((each.flags ^ before) & (kDirty | kFrozen)))
      return false;
    if (each.flags & kUsed) used += each.pages;
    if ((each.flags & kFree) && (each.flags & kDirty)) dirty += each.pages;
    before = each.flags;
  }
  return used == used_pages_ && dirty == dirty_pages_;
}

}  // namespace dunlin::heap
