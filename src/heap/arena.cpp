#include "heap/arena.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "heap/arena_lock.hpp"
#include "heap/available_memory.hpp"
#include "heap/mapped_file.hpp"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; older headers lack it
#endif

namespace dunlin::heap {
namespace {

constexpr std::size_t kAddressBytesMax =
    std::size_t{2048} * 64 * kHugePageBytes;  // what `huge_` can describe
constexpr std::size_t kAddressBytesMin = std::size_t{64} << 20;
constexpr std::size_t kAlignedBytesMin = std::size_t{4} << 20;  // blocks from here on start at a huge page
constexpr std::size_t kTailBytesMin = std::size_t{64} << 10;    // shorter tails are not worth giving back
constexpr std::size_t kSparseBytesMin = std::size_t{64} << 20;  // longer zeroed blocks are left sparse
constexpr int kCollapseFailuresMax = 16;  // in a row
constexpr std::uint32_t kOpenPages = 4 * kHugePagePages;  // added to the open part at a time
constexpr int kDescriptorMin = 900;       // programs that number their descriptors by hand stay far below

constexpr std::size_t round_up(std::size_t value, std::size_t to) noexcept {
  return (value + to - 1) / to * to;
}

/// The address space that the limits of this process leave us: `wanted`, less, or 0.
std::size_t permitted_bytes(std::size_t wanted) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < wanted)
    return 0;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur / 8 < wanted)
    wanted = limit.rlim_cur / 8;  // the rest is for everything else the program maps
  wanted = wanted / kHugePageBytes * kHugePageBytes;
  return wanted < kAddressBytesMin ? 0 : wanted;
}

}  // namespace

void fatal(const char* text) noexcept {
  constexpr char kPrefix[] = "dunlin: ";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kPrefix, sizeof kPrefix - 1);
  written = write(STDERR_FILENO, text, strlen(text));
  written = write(STDERR_FILENO, "\n", 1);
  abort();
}

int move_descriptor(int descriptor) noexcept {
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, kDescriptorMin);
  if (moved < 0) return descriptor;
  close(descriptor);
  return moved;
}

File File::make(const char* name, std::size_t bytes) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
    errno = EFBIG;
    return {};
  }
  const int made = memfd_create(name, MFD_CLOEXEC);
  struct stat status {};
  if (made < 0) return {};
  fchmod(made, S_IRUSR | S_IWUSR);  // others could open it through /proc
  if (ftruncate(made, off_t(bytes)) != 0 || fstat(made, &status) != 0) {
    ::close(made);
    return {};
  }
  return {move_descriptor(made), status.st_ino};
}

bool File::is_ours() const noexcept {
  struct stat status {};
  return descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_nlink == 0 && status.st_ino == inode;
}

void File::close() noexcept {
  if (is_ours()) ::close(descriptor);
  descriptor = -1;
}

bool Arena::open(const ArenaSettings& settings) noexcept {
  DUNLIN_ASSERT(base_ == nullptr);
  settings_ = settings;
  const int saved_errno = errno;
  const std::size_t wanted =
      settings.address_bytes < kAddressBytesMax ? settings.address_bytes : kAddressBytesMax;
  const std::size_t bytes = permitted_bytes(wanted);
  if (bytes == 0) {
    why_not_ = "a resource limit (address space or file size) leaves no room for it";
    return false;
  }
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);  // there may be as many ranks
  huge_bytes_max_ = available_memory().total / std::size_t(cpus > 0 ? cpus : 1) / 100 * settings.huge_percent;
  const bool is_mapped = map_control(bytes) && map_heap(bytes);
  errno = saved_errno;
  return is_mapped;
}

bool Arena::map_control(std::size_t heap_bytes) noexcept {
  const std::size_t bytes = Control::bytes_for(heap_bytes);
  control_file_ = File::make("dunlin-heap-control", bytes);
  if (control_file_.descriptor < 0) {
    why_not_ = "the kernel refuses memfd_create";
    return false;
  }
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      control_file_.descriptor, 0);
  if (mapped == MAP_FAILED) {
    why_not_ = "address space for its control page is short";
    control_file_.close();
    return false;
  }
  control_ = static_cast<Control*>(mapped);
  control_->pid = std::uint32_t(getpid());
  if (getrandom(&control_->nonce, sizeof control_->nonce, GRND_NONBLOCK) != sizeof control_->nonce)
    control_->nonce = reinterpret_cast<std::uintptr_t>(mapped) ^ (std::uint64_t(getpid()) << 40);
  control_->magic = Control::kMagic;
  control_->generation.store(2, std::memory_order_release);
  return true;
}

bool Arena::map_heap(std::size_t bytes) noexcept {
  const std::size_t table_bytes = (bytes / kPageBytes + 1) * sizeof(Extents::Entry);
  void* table = mmap(nullptr, table_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  file_ = File::make("dunlin-heap", bytes);
  if (table == MAP_FAILED || file_.descriptor < 0) {
    why_not_ = file_.descriptor < 0 ? "the kernel refuses a large sparse memfd" : "address space is short";
    return false;
  }
  std::byte* const base = map_file_aligned(file_.descriptor, bytes, PROT_NONE);
  if (!base) {
    why_not_ = errno == ENOMEM ? "address space is short" : "the kernel refuses to map it";
    return false;
  }
  extents_.init(static_cast<Extents::Entry*>(table), std::uint32_t(bytes / kPageBytes));
  control_->regions[Control::kHeap] = {reinterpret_cast<std::uintptr_t>(base), bytes, file_.inode,
                                    file_.descriptor, 0};
  bytes_ = bytes;
  base_ = base;
  madvise(base_, bytes_, MADV_DONTFORK);  // see arena_fork.cpp
  madvise(base_, bytes_, MADV_DONTDUMP);  // see try_open_part
  why_not_ = "";
  return true;
}

/// Lets the pages before `end` be read and written, and be part of a core dump.
bool Arena::try_open_part(std::uint32_t end) noexcept {
  if (end <= open_) return true;
  const auto to = std::uint32_t(round_up(end, kOpenPages));
  const auto all = std::uint32_t(bytes_ / kPageBytes);
  std::byte* const at = address_of(open_);
  const std::size_t bytes = std::size_t{(to < all ? to : all) - open_} * kPageBytes;
  if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  madvise(at, bytes, MADV_DODUMP);
  open_ = to;
  return true;
}

/// Makes these whole huge pages huge; `at` is aligned.  False when the kernel could not.
bool Arena::try_collapse(std::byte* at, std::size_t bytes) noexcept {
  // A collapse of an empty range is refused: one page of each has to be there.  Reading never changes a byte.
  for (std::size_t each = 0; each < bytes; each += kHugePageBytes)
    [[maybe_unused]] const std::byte touched = *static_cast<volatile std::byte*>(at + each);
  if (madvise(at, bytes, MADV_COLLAPSE) == 0) {
    counters_.collapsed_bytes += bytes;
    collapse_failures_ = 0;
    return true;
  }
  const bool is_unknown = errno == EINVAL && counters_.collapsed_bytes == 0;  // this kernel does not know it,
  if (is_unknown ||
      ++collapse_failures_ == kCollapseFailuresMax)  // or memory is too fragmented to go on trying
    can_collapse_ = false;
  return false;
}

/// Marks every 2 MiB that overlaps the pages and was not huge yet, and makes them huge.  The rest of a marked
/// one is free and clean, because holes are punched in whole ones only.  One that holds frozen pages waits:
/// it is backed by two files.
void Arena::collapse_pages(std::uint32_t first, std::uint32_t pages) noexcept {
  const std::size_t begin = first / kHugePagePages;
  const std::size_t end = (std::size_t{first} + pages + kHugePagePages - 1) / kHugePagePages;
  const auto is_due = [&](std::size_t each) {
    return !is_huge(each) && !has_frozen_pages(each);
  };
  for (std::size_t from = begin; from < end && can_collapse_;) {
    std::size_t to = from;
    for (; to < end && is_due(to); ++to) huge_[to / 64] |= std::uint64_t{1} << (to % 64);
    huge_count_ += to - from;
    if (to > from) try_collapse(base_ + from * kHugePageBytes, (to - from) * kHugePageBytes);
    from = to + 1;
  }
}

/// Whether the pages of a block may exist before the program touches them.  Programs allocate more than they
/// touch, so all that do are limited together; long zeroed ones are often touched in parts.
bool Arena::may_commit(std::size_t bytes, bool zeroed) const noexcept {
  if (!can_collapse_ || commits_late_.load(std::memory_order_relaxed)) return false;  // orders nothing else
  return huge_count_ * kHugePageBytes + bytes <= huge_bytes_max_ && !(zeroed && bytes > kSparseBytesMin);
}

void* Arena::allocate(std::size_t bytes, std::size_t alignment, bool zeroed) noexcept {
  if (!base_ || has_left_ || bytes == 0 || bytes > bytes_ / 2) return nullptr;
  if (alignment > kHugePageBytes) return nullptr;  // the arena itself is aligned no better
  const auto pages = std::uint32_t((bytes + kPageBytes - 1) / kPageBytes);
  std::size_t aligned_pages = alignment <= kPageBytes ? 1 : alignment / kPageBytes;
  if (bytes >= kAlignedBytesMin && aligned_pages < kHugePagePages) aligned_pages = kHugePagePages;
  const int saved_errno = errno;
  bool is_dirty = false;
  std::uint32_t first = 0;
  {
    const ArenaLock hold(lock_);
    first = extents_.take(pages, std::uint32_t(aligned_pages), zeroed && bytes >= settings_.clean_bytes_min);
    if (!first) return nullptr;
    if (!try_open_part(first + pages)) {
      extents_.give(first, false);
      return nullptr;
    }
    is_dirty = extents_.at(first).flags & Extents::kDirty;
    ++counters_.blocks;
    if (!is_dirty && may_commit(bytes, zeroed)) collapse_pages(first, pages);
  }
  errno = saved_errno;
  std::byte* block = address_of(first);
  DUNLIN_ASSERT(reinterpret_cast<std::uintptr_t>(block) % (alignment ? alignment : 1) == 0);
  if (zeroed && is_dirty) memset(block, 0, bytes);
  return block;
}

/// Gives the whole 2 MiB pages of a free dirty run back to the system, with what is clean of those at its
/// ends: it became part of them when they were made huge.  Parts of one would split it.
void Arena::punch(std::uint32_t run) noexcept {
  const Extents::Stretch free = extents_.free_around(run, kHugePagePages);
  const std::uint32_t least = run / kHugePagePages * kHugePagePages;
  const auto from = free.begin < least ? least : std::uint32_t(round_up(free.begin, kHugePagePages));
  const auto most = std::uint32_t(round_up(run + extents_.at(run).pages, kHugePagePages));
  const auto to = free.end > most ? most : std::uint32_t(free.end / kHugePagePages * kHugePagePages);
  if (from >= to) return;
  const std::size_t bytes = std::size_t{to - from} * kPageBytes;
  if (madvise(address_of(from), bytes, MADV_REMOVE) != 0) return;
  for (std::size_t each = from / kHugePagePages; each < to / kHugePagePages; ++each) {
    huge_count_ -= is_huge(each);
    huge_[each / 64] &= ~(std::uint64_t{1} << (each % 64));
  }
  counters_.punched_bytes += bytes;
  extents_.clean(free.begin, from, to);
}

void Arena::release(void* block) noexcept {
  DUNLIN_ASSERT(owns(block));
  const std::uint32_t first = page_of(block);
  const int saved_errno = errno;
  if (has_left_) {  // only the copies that this child made itself are its own to drop
    madvise(address_of(first), std::size_t{extents_.at(first).pages} * kPageBytes, MADV_DONTNEED);
    errno = saved_errno;
    return;
  }
  const ArenaLock hold(lock_);
  DUNLIN_ASSERT(first < extents_.top());
  DUNLIN_ASSERT(extents_.at(first).flags & Extents::kUsed);  // fails on a second free of the same block
  ++counters_.releases;
  if (extents_.at(first).flags & Extents::kFrozen) {
    refresh_frozen(first);
  } else {
    const std::uint32_t run = extents_.give(first, true);
    if (extents_.dirty_pages() * kPageBytes > settings_.cache_bytes_max) punch(run);
  }
  errno = saved_errno;
}

ArenaCounters Arena::counters() noexcept {
  const ArenaLock hold(lock_);
  return counters_;
}

bool Arena::try_resize(void* block, std::size_t bytes) noexcept {
  DUNLIN_ASSERT(owns(block));
  DUNLIN_ASSERT(bytes > 0);
  const std::uint32_t first = page_of(block);
  if (has_left_)  // nothing changes any more, and a thread that is not here may have had the lock
    return bytes <= std::size_t{extents_.at(first).pages} * kPageBytes;
  const ArenaLock hold(lock_);
  const Extents::Entry run = extents_.at(first);
  if (bytes > bytes_ / 2) return false;
  const auto pages = std::uint32_t((bytes + kPageBytes - 1) / kPageBytes);
  const bool is_fixed = run.flags & Extents::kFrozen;
  if (pages <= run.pages) {
    if (!is_fixed && (run.pages - pages) * kPageBytes >= kTailBytesMin) {
      const std::uint32_t rest = extents_.shrink(first, pages);
      if (extents_.dirty_pages() * kPageBytes > settings_.cache_bytes_max) punch(rest);
    }
    return true;
  }
  if (is_fixed || !extents_.try_grow(first, pages)) return false;
  if (!try_open_part(first + pages)) {
    extents_.shrink(first, run.pages);
    return false;
  }
  if (may_commit(std::size_t{pages - run.pages} * kPageBytes, false)) {
    const int saved_errno = errno;
    collapse_pages(first + run.pages, pages - run.pages);
    errno = saved_errno;
  }
  return true;
}

std::size_t Arena::usable_bytes(const void* block) const noexcept {
  DUNLIN_ASSERT(owns(block));
  return std::size_t{extents_.at(page_of(block)).pages} * kPageBytes;
}

bool Arena::is_shared(const void* at, std::size_t bytes) const noexcept {
  if (!base_ || has_left_ || bytes == 0) return false;
  const auto* begin = static_cast<const std::byte*>(at);
  if (owns(begin)) {
    if (bytes > bytes_ - std::size_t(begin - base_)) return false;
    if (!control_->any_frozen) return true;
    const std::uint32_t last = page_of(begin + bytes - 1);
    for (std::uint32_t page = page_of(begin); page <= last; ++page)
      if (control_->frozen[page / 64].load(std::memory_order_relaxed) >> (page % 64) & 1) return false;
    return true;
  }
  const Region& data = control_->regions[Control::kStatic];
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(at) - data.base;
  return !static_frozen_ && offset < data.bytes && bytes <= data.bytes - offset;
}

bool Arena::is_sound() noexcept {
  const ArenaLock hold(lock_);
  return extents_.is_sound();
}

}  // namespace dunlin::heap
