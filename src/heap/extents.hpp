// Runs of pages inside one big range: which are used, free and clean (zero, nothing behind them), or free and
// dirty.
//
// Called by Arena, which owns the lock, the pages and what "clean" costs; this class only keeps the books, in
// a table outside the pages (16 bytes a page, touched only at the two ends of a run).  docs/memory.md, "The
// arena".
//
// Thread safety: none; the caller holds a lock.
// Invariants: 1. Runs tile [1, top) without gap.  2. First and last page of a run carry its length and flags.
//             3. A free run is in exactly one list.  4. No two free neighbours have the same flags.
//             5. Page 0 is never part of a run, so that 0 means "none".
#pragma once

#include <cstddef>
#include <cstdint>

namespace dunlin::heap {

class Extents {
 public:
  enum Flag : std::uint32_t {
    kUsed = 1,    // handed out
    kFree = 2,    // in a list
    kDirty = 4,   // free: may hold old bytes; used: was dirty when it was handed out
    kFrozen = 8,  // in no present file since a fork: private, or ...
    kLoose = 16,  // ... with kFrozen: shared with the peers that had it mapped before, in the old file of ...
    kFileShift = 8,  // ... the number behind these bits
  };
  struct Entry {
    std::uint32_t pages;     // valid at the first and the last page of a run
    std::uint32_t previous;  // neighbours in the free list; valid at the first page of a free run
    std::uint32_t next;
    std::uint32_t flags;  // as `pages`
  };

  /// `table` begins at a page, has `pages + 1` entries that read as zero once they may be read, and outlives
  /// this object; it is made accessible as it is needed (arena.hpp, "the open part").
  void init(Entry* table, std::uint32_t pages) noexcept;

  /// Takes a run whose first page is a multiple of `alignment` (a power of two).  0: no room.
  /// `want_clean`: look for clean pages first (else dirty ones first, because their pages exist already).
  std::uint32_t take(std::uint32_t pages, std::uint32_t alignment, bool want_clean) noexcept;
  /// Gives a used run back, joined with free neighbours of the same cleanliness; returns the joined run's
  /// first page.
  std::uint32_t give(std::uint32_t first, bool dirty) noexcept;
  struct Stretch {
    std::uint32_t begin, end;
  };
  /// The free runs around this one that lie one behind the other, up to the first that reaches a multiple of
  /// `alignment` on either side; behind `top` all is free.
  Stretch free_around(std::uint32_t first, std::uint32_t alignment) const noexcept;
  /// Declares [from, to) clean, which is free; a run begins at `first`, not behind `from`.
  void clean(std::uint32_t first, std::uint32_t from, std::uint32_t to) noexcept;
  /// After a freeze: a free run has clean pages again, or (`keep` false) is nobody's for ever.
  void renew(std::uint32_t first, bool keep) noexcept;
  /// Lengthens a used run in place.  False when the pages behind it are not free.
  bool try_grow(std::uint32_t first, std::uint32_t pages) noexcept;
  /// Cuts a used run and gives its tail back as dirty; returns the first page of the joined free run.
  std::uint32_t shrink(std::uint32_t first, std::uint32_t pages) noexcept;

  const Entry& at(std::uint32_t first) const noexcept { return table_[first]; }
  void set_flags(std::uint32_t first, std::uint32_t flags) noexcept;
  std::uint32_t top() const noexcept { return top_; }  // first page that was never part of a run
  std::uint64_t dirty_pages() const noexcept { return dirty_pages_; }
  std::uint64_t used_pages() const noexcept { return used_pages_; }

  /// True when the invariants hold (tests).
  bool is_sound() const noexcept;

 private:
  static constexpr int kBins = 96;
  static int bin_of(std::uint32_t pages) noexcept;
  void write(std::uint32_t first, std::uint32_t pages, std::uint32_t flags) noexcept;
  void link(std::uint32_t first) noexcept;
  void unlink(std::uint32_t first) noexcept;
  std::uint32_t find(std::uint32_t pages, std::uint32_t alignment, bool dirty) noexcept;
  std::uint32_t carve(std::uint32_t run, std::uint32_t first, std::uint32_t pages) noexcept;
  std::uint32_t take_above(std::uint32_t pages, std::uint32_t alignment) noexcept;
  bool try_open_table(std::uint32_t end) noexcept;
  std::uint32_t join(std::uint32_t first, std::uint32_t pages, std::uint32_t flags) noexcept;

  Entry* table_ = nullptr;
  std::uint32_t pages_ = 0;
  std::uint32_t open_ = 0;  // entries of the table that are accessible
  std::uint32_t top_ = 1;
  std::uint64_t dirty_pages_ = 0;
  std::uint64_t used_pages_ = 0;
  std::uint32_t bins_[2][kBins] = {};  // first run of each list; [1]: dirty
  std::uint64_t filled_[2][2] = {};    // one bit per list that is not empty
};

}  // namespace dunlin::heap
