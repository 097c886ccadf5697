// What fork does to the shared heap, so that a child never sees its parent's later writes, nor the parent the
// child's (docs/memory.md, "Fork").
//
// freeze: before the fork the pages in use are mapped again, MAP_PRIVATE, over themselves.  From then on
// parent and child share an unchanging file and the kernel copies on write, as it does for any private
// memory, also with threads writing meanwhile.  The parent opens a new file (a new generation) for everything
// it hands out later. Frozen blocks are not shared with peers until they are freed.
//
// wait: when the process has one thread, most forks are followed by exec.  The child then maps privately, and
// the parent waits a few milliseconds for the child's exec or exit, and freezes only when the child lives on.
// A child is gone when three things say so: the kernel has released its robust mutex (which it does when the
// thread that forked ends, too), has closed the last copy of a pipe's end (which the child may close itself,
// but which its threads and its own children keep), and no handler of ours has run for a child of the child.
// A program whose children always live on is soon spared the wait.
// Until it maps privately the child shares the parent's memory, so signals are blocked in both, and this
// needs handlers that were registered before the program's: those of the preloaded allocator, not of the
// library's own arena.
//
// copy: to some blocks others store at any moment (KeptPages: windows in memory of the program's own, pages
// that a network has pinned).  They stay in their pages; the child makes copies, and the parent waits for it.
// What other threads of the parent, or others, write meanwhile the child may see.  If the rest freezes they
// are *loose*: who has them mapped goes on, and who comes new finds them frozen.
//
// The preloaded allocator replaces `_Fork`, which runs no handlers, and `fork`, which it lets fail where a
// signal handler calls it that has interrupted the allocator.  A child made by a raw clone does
// not inherit the heap at all (MADV_DONTFORK): it gets SIGSEGV instead of the parent's live memory.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "heap/arena.hpp"
#include "heap/arena_lock.hpp"

/// The C library's own: what `pthread_atfork` calls with the library whose end takes the handlers out again.
extern "C" int __register_atfork(void (*before)(), void (*parent)(), void (*child)(), void* library) noexcept;

namespace dunlin::heap {
namespace {

Arena* watched = nullptr;  // written once, before the handlers are registered

void lock_until(timespec& when, std::uint32_t from_now_us) noexcept {
  clock_gettime(CLOCK_REALTIME, &when);
  const long nanoseconds = when.tv_nsec + long(from_now_us) * 1000;
  when.tv_sec += nanoseconds / 1000000000;
  when.tv_nsec = nanoseconds % 1000000000;
}

/// Whether nobody holds the other end of the pipe any more, at the latest at `end`.
bool is_hung_up(int descriptor, const timespec& end) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const long left = (end.tv_sec - now.tv_sec) * 1000000000 + end.tv_nsec - now.tv_nsec;
  const timespec patience{0, left > 0 ? left % 1000000000 : 0};  // at most DUNLIN_HEAP_FORK_WAIT_US
  pollfd pipe{descriptor, 0, 0};
  return ppoll(&pipe, 1, &patience, nullptr) == 1 && (pipe.revents & POLLHUP);
}

bool has_one_thread() noexcept {
  if (__libc_single_threaded) return true;
  struct stat status {};  // the C library never goes back to "single"; the kernel has a directory per thread
  constexpr nlink_t kOwnLinks = 2;
  return stat("/proc/self/task", &status) == 0 && status.st_nlink == kOwnLinks + 1;
}

}  // namespace

/// Shared by parent and child during one fork that waits.
struct Arena::ForkPage {
  static ForkPage* make() noexcept;
  int ends[2];  // of a pipe: the parent has the first, the child and what comes of it the second
  std::atomic<std::uint32_t> is_private;  // written by the child when its mappings are its own
  std::atomic<std::uint32_t> has_forked;  // written by the child or its descendants: one more has this view
  pthread_mutex_t child_lives;            // robust; held by the child until it execs or exits
};

struct ForkHandlers {
  static void before() noexcept { watched->before_fork(); }
  static void parent() noexcept { watched->after_fork_in_parent(); }
  static void child() noexcept { watched->after_fork_in_child(); }
};

void Arena::watch_forks(bool is_preloaded) noexcept {
  if (!base_) return;
  DUNLIN_ASSERT(watched == nullptr);
  watched = this;
  is_preloaded_ = is_preloaded;
  if (is_preloaded)
    __register_atfork(ForkHandlers::before, ForkHandlers::parent, ForkHandlers::child, nullptr);
  else
    pthread_atfork(ForkHandlers::before, ForkHandlers::parent, ForkHandlers::child);
}

void Arena::set_fork_advice(int advice) noexcept {
  madvise(base_, std::size_t{extents_.top()} * kPageBytes, advice);
}

/// nullptr: out of memory or of descriptors.
Arena::ForkPage* Arena::ForkPage::make() noexcept {
  void* mapped = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* page = static_cast<ForkPage*>(mapped);
  if (pipe2(page->ends, O_CLOEXEC) != 0) {
    munmap(mapped, kPageBytes);
    return nullptr;
  }
  for (int& each : page->ends) each = move_descriptor(each);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&page->child_lives, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return page;
}

void Arena::before_fork() noexcept {
  if (!base_) return;
  // Only where the library's `fork` is not ours (own arena, forkpty): it cannot be told to fail.
  if (ArenaLock::is_near) fatal("a signal handler that has interrupted malloc, free or fork cannot fork");
  if (!has_left_) ArenaLock::take(lock_);
  prepare_fork();
}

bool Arena::may_fork() const noexcept {
  if (!ArenaLock::is_near) return true;
  errno = EAGAIN;
  return false;
}

pid_t Arena::fork_by(pid_t (*fork)() noexcept) noexcept {
  if (!base_) return fork();
  // Without end it must not wait: another thread that has the lock and forks may wait for the C library's
  // malloc, which the caller has interrupted.
  constexpr int kTries = 1000;
  for (int tries = 0; !has_left_ && !ArenaLock::try_take(lock_); ++tries) {
    if (tries == kTries) {
      errno = EAGAIN;
      return -1;
    }
    sched_yield();
  }
  prepare_fork();
  const pid_t child = fork();
  if (child == 0)
    after_fork_in_child();
  else
    after_fork_in_parent();
  return child;
}

void Arena::prepare_fork() noexcept {
  if (has_left_) {
    // F1 (pairs with F2 in child_left): whoever waits for this child's end must know that its view lives on.
    if (fork_page_) fork_page_->has_forked.store(1, std::memory_order_release);
    return;
  }
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);  // `fork` cannot be cancelled; `close` can
  fork_page_ = nullptr;
  set_fork_advice(MADV_DOFORK);
  look_for_kept(__builtin_frame_address(0));
  waits_for_exec_ = false;
  if (must_freeze_ && !has_shared_stack_ && settings_.fork_wait_us > 0) {
    const bool is_patient = patience_ > 0 || ++hasty_forks_ % kHastyForks == 0;
    waits_for_exec_ = is_patient && has_one_thread();
  }
  if (child_copies_ || waits_for_exec_) fork_page_ = ForkPage::make();
  if (!fork_page_) {
    waits_for_exec_ = false;
    if (child_copies_) fatal("fork has no descriptors left for a child that copies shared memory");
  }
  if (must_freeze_ && !waits_for_exec_) freeze();
  // Signal handlers would store to pages that parent and child still share.  Handlers of the program that run
  // before ours (own arena) would find themselves with another mask.
  blocks_signals_ = fork_page_ && is_preloaded_;
  if (!blocks_signals_) return;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &signals_);
}

void Arena::after_fork_in_child() noexcept {
  if (!base_) return;
  // What lies behind was not inherited: the C library may map blocks of this child there.
  bytes_ = std::size_t{extents_.top()} * kPageBytes;
  if (has_left_) return;
  if (fork_page_) {
    pthread_mutex_lock(&fork_page_->child_lives);
    close(fork_page_->ends[0]);  // the other end stays open: it tells that this process lives
    if (child_copies_) copy_kept();
    if (waits_for_exec_) make_private();
    // C1 (pairs with P1 in child_left, P2 in wait_for_copies): the parent must not write before the mappings
    // above exist.
    fork_page_->is_private.store(1, std::memory_order_release);
    syscall(SYS_futex, &fork_page_->is_private, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  has_left_ = true;
  forget_kept();
  for (File& each : old_files_) each.close();
  file_.close();
  control_file_.close();
  give_after_fork();
}

void Arena::after_fork_in_parent() noexcept {
  if (!base_ || has_left_) return;
  const int saved_errno = errno;
  bool is_frozen = must_freeze_;
  if (fork_page_) {
    close(fork_page_->ends[1]);
    if (child_copies_) wait_for_copies(*fork_page_);
    if (waits_for_exec_) {
      is_frozen = !child_left(*fork_page_);
      if (is_frozen) freeze();  // before anything is written that the child may still see
      patience_ = is_frozen ? patience_ - 1 : kPatience;
      ++counters_.waits;
    }
    close(fork_page_->ends[0]);
    munmap(fork_page_, kPageBytes);
    fork_page_ = nullptr;
  }
  if (is_frozen) has_left_ = !open_generation();
  if (has_left_ && child_copies_)
    fatal("behind a fork there is no room to map shared memory anew, and windows lie in the old one");
  forget_kept();
  if (!has_left_) set_fork_advice(MADV_DONTFORK);  // else later children get it as it is
  give_after_fork();
  errno = saved_errno;
}

void Arena::give_after_fork() noexcept {
  const sigset_t signals = signals_;
  const bool blocks_signals = blocks_signals_;
  const int cancel_state = cancel_state_;
  ArenaLock::give(lock_);
  if (blocks_signals) pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  pthread_setcancelstate(cancel_state, nullptr);
}

/// Whether the child was gone (exec, exit) within the time we may wait.  A fork that failed looks like a
/// child that never ran, and ends in a freeze: correct, only slower.
bool Arena::child_left(ForkPage& page) noexcept {
  timespec end{};
  lock_until(end, settings_.fork_wait_us);
  // P1 (pairs with C1): after this the child no longer sees our writes.
  while (page.is_private.load(std::memory_order_acquire) == 0)
    if (syscall(SYS_futex, &page.is_private, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &end, nullptr,
                FUTEX_BITSET_MATCH_ANY) != 0 &&
        errno == ETIMEDOUT)
      return false;
  const int result = pthread_mutex_timedlock(&page.child_lives, &end);
  if (result == EOWNERDEAD) {
    pthread_mutex_consistent(&page.child_lives);
    pthread_mutex_unlock(&page.child_lives);
  }
  if (result != EOWNERDEAD || page.has_forked.load(std::memory_order_acquire) != 0) return false;  // F2
  return is_hung_up(page.ends[0], end);
}

/// Until the child has its own pages, or is gone.
void Arena::wait_for_copies(const ForkPage& page) noexcept {
  constexpr std::uint32_t kLookUs = 10000;
  // P2 (pairs with C1): after this the child no longer sees our writes.
  while (page.is_private.load(std::memory_order_acquire) == 0) {
    timespec end{};
    lock_until(end, kLookUs);
    // A signal ends it early, too.
    if (syscall(SYS_futex, &page.is_private, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &end, nullptr,
                FUTEX_BITSET_MATCH_ANY) != 0 &&
        is_hung_up(page.ends[0], end))
      return;
  }
}

/// Maps privately over themselves all pages that are shared and do not stay.
void Arena::make_private() noexcept {
  const auto stays = [this](std::uint32_t first) {
    return (extents_.at(first).flags & Extents::kFrozen) || is_kept(first);
  };
  const std::uint32_t top = extents_.top();
  for (std::uint32_t first = 1; first < top;) {
    std::uint32_t end = first;
    while (end < top && !stays(end)) end += extents_.at(end).pages;
    if (end > first)
      map_private(address_of(first), std::size_t{end - first} * kPageBytes, file_,
                  std::size_t{first} * kPageBytes);
    first = end < top ? end + extents_.at(end).pages : top;
  }
  // Not from the control page: the parent, which shares it, may have cleared its entry already.
  if (static_data_.bytes && !static_frozen_ && !is_static_kept_)
    map_private(reinterpret_cast<std::byte*>(static_data_.base), static_data_.bytes,
                {static_data_.descriptor, static_data_.inode}, static_data_.offset);
}

void Arena::freeze() noexcept {
  // G1 (pairs with the checks in shared_heap_provider.cpp): odd before the first page changes its backing.
  control_->generation.fetch_add(1, std::memory_order_seq_cst);
  control_->any_frozen = 1;
  for (std::uint32_t first = 1; first < extents_.top(); first += extents_.at(first).pages) {
    if (!(extents_.at(first).flags & Extents::kUsed)) continue;
    if (!(extents_.at(first).flags & Extents::kFrozen))
      set_frozen_bits(first, extents_.at(first).pages, true);
  }
  make_private();
  for (std::uint32_t first = 1; first < extents_.top(); first += extents_.at(first).pages)
    if (!is_kept(first)) extents_.set_flags(first, extents_.at(first).flags | Extents::kFrozen);
  static_frozen_ = true;
  frozen_pages_ = extents_.used_pages();
  ++counters_.freezes;
}

/// In the parent, after a freeze: a new file under all free pages, known to peers by a new generation.
bool Arena::open_generation() noexcept {
  const File made = next_file_.descriptor < 0 ? File::make("dunlin-heap", bytes_) : next_file_;
  next_file_ = {};
  Region& heap = control_->regions[Control::kHeap];
  if (made.descriptor < 0) {
    heap.bytes = 0;
    control_->generation.fetch_add(1, std::memory_order_seq_cst);
    return false;
  }
  File old = file_;
  file_ = made;
  heap.inode = made.inode;
  heap.descriptor = made.descriptor;
  static_loose_ = is_static_kept_;
  if (static_data_.bytes && !static_loose_) {
    File{static_data_.descriptor, static_data_.inode}.close();
    static_data_.bytes = 0;
  }
  control_->regions[Control::kStatic].bytes = 0;
  const auto map_run = [&](std::uint32_t first, std::size_t bytes, int protection) {
    const off_t offset = off_t(first) * off_t(kPageBytes);
    return mmap(address_of(first), bytes, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, made.descriptor,
                offset) != MAP_FAILED;
  };
  const std::uint32_t top = extents_.top();
  const std::uint32_t rest = open_ ? top : 0;  // page 0 is nobody's, but the first huge page begins with it
  const std::size_t rest_bytes = bytes_ - std::size_t{rest} * kPageBytes;
  bool is_mapped = rest_bytes == 0 || map_run(rest, rest_bytes, PROT_NONE);
  if (is_mapped && rest_bytes > 0) {
    madvise(address_of(rest), rest_bytes, MADV_DONTFORK);
    madvise(address_of(rest), rest_bytes, MADV_DONTDUMP);
    open_ = rest;
  }
  int runs = 0;
  for (std::uint32_t first = 1; is_mapped && first < top;) {
    const Extents::Entry run = extents_.at(first);
    if (run.flags & Extents::kFree) {
      // Beyond the limit of mappings a free run is lost: used by nobody, private, and never written.
      const bool is_kept = ++runs <= int(kRunsMax) &&
                           map_run(first, std::size_t{run.pages} * kPageBytes, PROT_READ | PROT_WRITE);
      extents_.renew(first, is_kept);
      if (!is_kept) {
        set_frozen_bits(first, run.pages, true);
        frozen_pages_ += run.pages;
      }
    } else if (!(run.flags & Extents::kFrozen) && is_kept(first)) {
      loosen(first);
    }
    first += run.pages;
  }
  forget_huge(0, bytes_ / kHugePageBytes);
  punch_free(old);
  if (old_blocks_[old_file_] > 0)
    old_files_[old_file_] = old;
  else
    old.close();
  if (!is_mapped) heap.bytes = 0;
  // G2 (pairs with the checks in shared_heap_provider.cpp): even again; the regions above are complete.
  control_->generation.fetch_add(1, std::memory_order_seq_cst);
  return is_mapped;
}

/// Of these 2 MiB those that hold no frozen page are no huge pages any more.  The others count, as long as
/// the program has them.
void Arena::forget_huge(std::size_t from, std::size_t to) noexcept {
  for (std::size_t each = from; each < to; ++each) {
    if (!is_huge(each) || has_frozen_pages(each)) continue;
    huge_[each / 64] &= ~(std::uint64_t{1} << (each % 64));
    --huge_count_;
  }
}

/// A file that holds frozen blocks lasts as long as they; nobody, no child either, looks at what is free
/// in it.
void Arena::punch_free(const File& file) const noexcept {
  if (!file.is_ours()) return;
  const std::uint32_t top = extents_.top();
  for (std::uint32_t first = 1; first < top;) {
    std::uint32_t end = first;
    while (end < top && (extents_.at(end).flags & Extents::kFree)) end += extents_.at(end).pages;
    const std::size_t from = (first + kHugePagePages - 1) / kHugePagePages;
    const std::size_t to = (end < top ? end * kPageBytes : bytes_) / kHugePageBytes;
    constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    const auto at = off_t(from * kHugePageBytes), bytes = off_t(to * kHugePageBytes) - at;
    if (bytes > 0) (void)fallocate(file.descriptor, kPunch, at, bytes);
    first = end < top ? end + extents_.at(end).pages : top;
  }
}

/// A frozen block was freed: new shared pages of the present generation take its place.
void Arena::refresh_frozen(std::uint32_t first) noexcept {
  const std::uint32_t pages = extents_.at(first).pages;
  const off_t offset = off_t(first) * off_t(kPageBytes);
  if (extents_.at(first).flags & Extents::kLoose) {
    madvise(address_of(first), std::size_t{pages} * kPageBytes, MADV_REMOVE);  // its children have copies
    loosen_no_more(first);
  }
  if (!file_.is_ours() ||
      mmap(address_of(first), std::size_t{pages} * kPageBytes, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_.descriptor, offset) == MAP_FAILED)
    return;  // the run stays used and frozen: lost, but never wrong
  madvise(address_of(first), std::size_t{pages} * kPageBytes, MADV_DONTFORK);
  set_frozen_bits(first, pages, false);
  frozen_pages_ -= pages;
  forget_huge(first / kHugePagePages, (std::size_t{first} + pages - 1) / kHugePagePages + 1);
  extents_.set_flags(first, Extents::kUsed);
  extents_.give(first, false);
}

bool Arena::has_frozen_pages(std::size_t huge_page) const noexcept {
  if (!control_->any_frozen) return false;
  constexpr std::size_t kWords = kHugePagePages / 64;
  for (std::size_t word = huge_page * kWords; word < (huge_page + 1) * kWords; ++word)
    if (control_->frozen[word].load(std::memory_order_relaxed)) return true;  // this process is the writer
  return false;
}

void Arena::set_frozen_bits(std::uint32_t first, std::uint32_t pages, bool frozen) noexcept {
  for_words(first, pages, [&](std::size_t index, std::uint64_t mask) noexcept {
    std::atomic<std::uint64_t>& word = control_->frozen[index];
    const std::uint64_t old = word.load(std::memory_order_relaxed);  // this process is the only writer
    word.store(frozen ? old | mask : old & ~mask, std::memory_order_release);
    return true;
  });
}

}  // namespace dunlin::heap
