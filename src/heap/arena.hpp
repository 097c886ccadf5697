// The shared heap of one process: 64 GiB of address space over a sparse memfd, from which large blocks are
// cut.
//
// Called by the preloaded allocator (preload/malloc.cpp) and, where that is absent, by heap.cpp in the
// library.  Uses no allocator and nothing of the C++ run-time library, because it works below malloc.
// docs/memory.md, "The arena".
//
// Thread safety: all members may be called by any thread; one lock, held for microseconds (a collapse or a
// hole included; a fork longer). Invariants: 1. A page is shared with peers, frozen (private since a fork),
//             loose (shared with some, arena_kept.cpp) or unused.
//             2. A clean page reads as zero.  3. In a forked child no page is ever taken again.
//             4. Only the open part, which reaches from the first page to a little beyond the last one that
//             was ever taken, can be read and written: mlockall makes resident what can.  A core dump has no
//             more either.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/extents.hpp"
#include "heap/layout.hpp"

namespace dunlin::heap {

struct ArenaSettings {
  std::size_t address_bytes = std::size_t{64} << 30;
  std::size_t cache_bytes_max = std::size_t{256} << 20;  // freed memory kept for the next block
  std::size_t huge_percent = 12;  // of a CPU's part of the memory: blocks get huge pages at once up to this
  std::size_t clean_bytes_min = std::size_t{16}
                                << 20;  // zeroed blocks of this size look for clean pages first
  std::uint32_t fork_wait_us =
      3000;  // how long fork waits for the child to exec before it freezes; 0: freeze always
};

struct ArenaCounters {
  std::uint64_t blocks, releases, collapsed_bytes, punched_bytes, freezes, waits;
};

/// A memfd with a number out of the way of the program's own, close-on-exec.  Programs close what they did
/// not open, and get the number for a file of theirs: whoever uses the descriptor asks `is_ours` first.
struct File {
  int descriptor = -1;
  std::uint64_t inode = 0;

  /// Descriptor -1 and errno on failure, also where a limit on the size of files (RLIMIT_FSIZE) would make
  /// the kernel kill the process.
  static File make(const char* name, std::size_t bytes) noexcept;
  bool is_ours() const noexcept;
  void close() noexcept;  // unless the number is the program's now
};
/// Moves a descriptor to a number out of the way of the program's own; stays where it is when that fails.
int move_descriptor(int descriptor) noexcept;

/// Bytes that others store to at any moment: they stay in their pages over a fork, as long as they are in the
/// list of the arena, whose lock guards the members.
struct KeptPages {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  KeptPages* next = nullptr;
  KeptPages** from = nullptr;  // what points here; nullptr: nobody
};

class Arena {
 public:
  constexpr Arena() noexcept = default;
  Arena(const Arena&) = delete;

  /// Makes the memfds and maps them, once.  False: this process has no shared heap; `why_not` says why.
  bool open(const ArenaSettings& settings) noexcept;
  /// Registers the fork handlers.  Those of the preloaded allocator are the first of all libraries', and stay
  /// behind its own destructors.
  void watch_forks(bool is_preloaded) noexcept;
  /// False, and EAGAIN in errno, in a signal handler that has interrupted the allocator or another fork.
  bool may_fork() const noexcept;
  /// A fork by a function that runs no handlers (`_Fork`).
  pid_t fork_by(pid_t (*fork)() noexcept) noexcept;
  /// Both wait for the end of a fork that is under way.
  void keep(KeptPages& pages) noexcept;
  void keep_no_more(KeptPages& pages) noexcept;
  /// Whether new blocks get no pages before they are touched.
  void commit_late(bool is_late) noexcept { commits_late_.store(is_late, std::memory_order_relaxed); }
  bool is_open() const noexcept { return base_ != nullptr; }
  const char* why_not() const noexcept { return why_not_; }

  /// `zeroed`: the block reads as zero.  nullptr: no room, or a forked child (the caller takes its next way).
  void* allocate(std::size_t bytes, std::size_t alignment, bool zeroed) noexcept;
  void release(void* block) noexcept;
  /// Lengthens or shortens in place; false when the block has to move.
  bool try_resize(void* block, std::size_t bytes) noexcept;
  std::size_t usable_bytes(const void* block) const noexcept;

  std::uintptr_t begin() const noexcept { return reinterpret_cast<std::uintptr_t>(base_); }
  bool owns(const void* address) const noexcept {
    return std::size_t(static_cast<const std::byte*>(address) - base_) < bytes_;
  }
  /// Whether all these bytes are shared with peers now.
  bool is_shared(const void* at, std::size_t bytes) const noexcept;

  /// Puts writable static data under a memfd that peers can map (static_data.cpp).  False with `why` set.
  bool adopt_static(const char** why) noexcept;

  Control* control() const noexcept { return control_; }
  int control_descriptor() const noexcept { return control_file_.descriptor; }
  ArenaCounters counters() noexcept;
  bool is_sound() noexcept;

 private:
  friend struct ForkHandlers;
  struct ForkPage;

  bool map_heap(std::size_t bytes) noexcept;
  bool map_control(std::size_t heap_bytes) noexcept;
  bool try_open_part(std::uint32_t end) noexcept;
  std::uint32_t page_of(const void* address) const noexcept {
    return std::uint32_t(std::size_t(static_cast<const std::byte*>(address) - base_) / kPageBytes);
  }
  std::byte* address_of(std::uint32_t page) const noexcept { return base_ + std::size_t{page} * kPageBytes; }
  bool try_collapse(std::byte* at, std::size_t bytes) noexcept;
  void collapse_pages(std::uint32_t first, std::uint32_t pages) noexcept;
  bool may_commit(std::size_t bytes, bool zeroed) const noexcept;
  bool is_huge(std::size_t each) const noexcept { return huge_[each / 64] >> (each % 64) & 1; }
  void punch(std::uint32_t run) noexcept;
  void refresh_frozen(std::uint32_t first) noexcept;
  void forget_huge(std::size_t from, std::size_t to) noexcept;
  void punch_free(const File& file) const noexcept;
  bool has_frozen_pages(std::size_t huge_page) const noexcept;
  void set_frozen_bits(std::uint32_t first, std::uint32_t pages, bool frozen) noexcept;

  // arena_fork.cpp
  void before_fork() noexcept;
  void prepare_fork() noexcept;
  void after_fork_in_parent() noexcept;
  void after_fork_in_child() noexcept;
  void give_after_fork() noexcept;
  void make_private() noexcept;
  void freeze() noexcept;
  bool open_generation() noexcept;
  bool child_left(ForkPage& page) noexcept;
  void wait_for_copies(const ForkPage& page) noexcept;
  void set_fork_advice(int advice) noexcept;

  // arena_kept.cpp
  void mark_kept() noexcept;
  void look_for_kept(const void* stack) noexcept;
  bool is_marked(std::uint32_t first) const noexcept;
  bool is_kept(std::uint32_t first) const noexcept;
  void forget_kept() noexcept;
  void loosen(std::uint32_t first) noexcept;
  void loosen_no_more(std::uint32_t first) noexcept;
  void settle(std::uint32_t first) noexcept;
  void settle_static() noexcept;
  static void map_private(std::byte* at, std::size_t bytes, const File& file, std::uint64_t offset) noexcept;
  void copy_kept() noexcept;
  /// Calls `on_word(index, mask)` for the words with a bit for each of these pages, until it answers false;
  /// whether it never did.
  template <class OnWord>
  static bool for_words(std::uint32_t first, std::uint32_t pages, const OnWord& on_word) noexcept {
    const std::uint32_t end = first + pages;
    for (std::uint32_t page = first; page < end;) {
      const std::uint32_t in_word = page % 64;
      const std::uint32_t count = end - page < 64 - in_word ? end - page : 64 - in_word;
      const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
      if (!on_word(page / 64, ones << in_word)) return false;
      page += count;
    }
    return true;
  }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t open_ = 0;  // pages of the open part
  File file_;
  File control_file_;
  Control* control_ = nullptr;
  Extents extents_;
  std::uint64_t huge_[2048] = {};  // one bit per 2 MiB made a huge page that has not been given back since
  std::size_t huge_count_ = 0;     // of these bits
  std::size_t huge_bytes_max_ = 0;
  ArenaSettings settings_;
  ArenaCounters counters_ = {};
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  bool can_collapse_ = true;
  std::atomic<bool> commits_late_{false};  // written by any thread; says nothing of other memory
  int collapse_failures_ = 0;  // in a row
  bool is_preloaded_ = false;  // its fork handlers are the first of all
  bool has_left_ = false;      // this is a forked child: the arena belongs to the parent
  Region static_data_ = {};    // as in the control page, but of this process alone
  bool static_frozen_ = false;
  bool static_loose_ = false;  // as kLoose
  KeptPages* kept_ = nullptr;  // the list
  static constexpr std::size_t kOldFiles = 16;
  File old_files_[kOldFiles];                 // that hold loose blocks; more forks keep everything
  std::uint32_t old_blocks_[kOldFiles] = {};  // so many
  static constexpr std::uint32_t kRunsMax = 8192;  // each costs a mapping, of which the kernel allows 65530
  // Between the handlers of one fork: ...
  bool blocks_signals_ = false;
  sigset_t signals_ = {};  // blocked before it
  int cancel_state_ = 0;   // before it
  std::uint64_t* kept_pages_ = nullptr;  // one bit a page before `top`; nullptr: none is kept
  std::size_t kept_pages_bytes_ = 0;
  bool is_static_kept_ = false;
  std::uint32_t stack_page_ = 0;   // of who forks; 0: it is elsewhere
  bool has_shared_stack_ = false;  // it is there, or among static data
  std::size_t old_file_ = 0;       // the place for the present file
  bool keeps_all_ = false;        // for want of another file
  File next_file_;                // where some blocks stay and others freeze
  bool child_copies_ = false;     // some blocks stay, of which the child needs copies
  bool must_freeze_ = false;      // others do not
  bool waits_for_exec_ = false;   // before it freezes
  static constexpr int kPatience = 4;
  static constexpr unsigned kHastyForks = 16;
  unsigned hasty_forks_ = 0;        // since then; now and then one waits, because programs change
  int patience_ = kPatience;        // forks that may still wait in vain before waiting is given up
  std::uint64_t frozen_pages_ = 0;  // of the used ones
  ForkPage* fork_page_ = nullptr;
  const char* why_not_ = "the shared heap was not opened";
};

/// Writes one line to standard error and aborts; usable below malloc.
[[noreturn]] void fatal(const char* text) noexcept;

}  // namespace dunlin::heap
