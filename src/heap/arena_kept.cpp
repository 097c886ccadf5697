// Blocks to which others store at any moment, and what a fork does to them (arena_fork.cpp, "copy").
//
// They stay in their pages.  Where the rest of the heap freezes and goes on in a new file they are *loose*:
// shared with who has the old file mapped, which is kept open as long as one block in it is.  A child gets
// copies of the kept and the loose.  A loose block that is in nobody's list any more is frozen at the next
// fork.  docs/memory.md, "Fork".
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap/arena.hpp"
#include "heap/arena_lock.hpp"

namespace dunlin::heap {

void Arena::keep(KeptPages& pages) noexcept {
  if (!base_) return;
  const ArenaLock hold(lock_);
  pages.next = kept_;
  pages.from = &kept_;
  if (kept_) kept_->from = &pages.next;
  kept_ = &pages;
}

void Arena::keep_no_more(KeptPages& pages) noexcept {
  if (!pages.from) return;
  const ArenaLock hold(lock_);
  *pages.from = pages.next;
  if (pages.next) pages.next->from = pages.from;
  pages.from = nullptr;
}

/// Sets the bits of the pages that are in the list, and whether static data are.
void Arena::mark_kept() noexcept {
  if (!kept_) return;
  const std::uint32_t top = extents_.top();
  kept_pages_bytes_ = (top / 64 + 1) * sizeof *kept_pages_;
  // Shared, because a limit on data (RLIMIT_DATA) does not count it; the child only reads it.
  void* const made =
      mmap(nullptr, kept_pages_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) fatal("fork has no memory to find the windows in the shared heap");
  kept_pages_ = static_cast<std::uint64_t*>(made);
  const auto heap_end = reinterpret_cast<std::uintptr_t>(address_of(top));
  for (const KeptPages* each = kept_; each; each = each->next) {
    const std::uintptr_t room = UINTPTR_MAX - each->begin;
    const std::uintptr_t end = each->begin + (each->bytes < room ? each->bytes : room);
    if (each->begin < static_data_.base + static_data_.bytes && end > static_data_.base)
      is_static_kept_ = true;
    const std::uintptr_t from = each->begin > begin() ? each->begin : begin();
    const std::uintptr_t to = end < heap_end ? end : heap_end;
    if (from >= to) continue;
    const auto first = std::uint32_t((from - begin()) / kPageBytes);
    const auto last = std::uint32_t((to - 1 - begin()) / kPageBytes);
    for_words(first, last - first + 1, [&](std::size_t word, std::uint64_t mask) noexcept {
      kept_pages_[word] |= mask;
      return true;
    });
  }
}

/// Finds what stays in its pages over the fork that follows, and whether anything else has to be frozen.
/// Never the stack of who forks: until the child had its copy, both would run on it.
void Arena::look_for_kept(const void* stack) noexcept {
  is_static_kept_ = false;
  mark_kept();
  const bool is_in_static = reinterpret_cast<std::uintptr_t>(stack) - static_data_.base < static_data_.bytes;
  stack_page_ = owns(stack) ? page_of(stack) : 0;
  has_shared_stack_ = is_in_static || stack_page_ > 0;
  if (is_in_static) is_static_kept_ = false;
  if (static_loose_ && !is_static_kept_) settle_static();
  must_freeze_ = static_data_.bytes && !static_frozen_ && !is_static_kept_;
  child_copies_ = is_static_kept_;
  std::uint32_t kept_blocks = 0;
  for (std::uint32_t first = 1; first < extents_.top(); first += extents_.at(first).pages) {
    const Extents::Entry& block = extents_.at(first);
    if (!(block.flags & Extents::kUsed)) continue;
    if ((block.flags & Extents::kLoose) && !is_marked(first)) settle(first);
    if (is_kept(first))
      ++kept_blocks;
    else if (!(block.flags & Extents::kFrozen))
      must_freeze_ = true;
  }
  child_copies_ = child_copies_ || kept_blocks > 0;
  if (!child_copies_ || !must_freeze_) return;
  // Some stay and others freeze: that takes another file, a place for the old one, and a mapping for each.
  for (old_file_ = 0; old_file_ < kOldFiles - 1 && old_blocks_[old_file_] > 0;) ++old_file_;
  if (old_blocks_[old_file_] == 0 && kept_blocks <= kRunsMax) next_file_ = File::make("dunlin-heap", bytes_);
  if (next_file_.descriptor >= 0) return;
  if (has_shared_stack_)
    fatal("a fork on a stack in the shared heap beside windows has no other file for what it freezes");
  keeps_all_ = true;
  must_freeze_ = false;
  is_static_kept_ = static_data_.bytes > 0;
}

/// Whether the list has a page of the block, on which nobody forks.
bool Arena::is_marked(std::uint32_t first) const noexcept {
  const std::uint32_t pages = extents_.at(first).pages;
  if (stack_page_ >= first && stack_page_ < first + pages) return false;
  const auto is_bare = [&](std::size_t word, std::uint64_t mask) noexcept {
    return (kept_pages_[word] & mask) == 0;
  };
  return keeps_all_ || (kept_pages_ && !for_words(first, pages, is_bare));
}

/// Whether the block stays in its pages over the fork that is under way.
bool Arena::is_kept(std::uint32_t first) const noexcept {
  const Extents::Entry& block = extents_.at(first);
  if (!(block.flags & Extents::kUsed)) return false;
  if (block.flags & Extents::kFrozen) return block.flags & Extents::kLoose;
  return is_marked(first);
}

void Arena::forget_kept() noexcept {
  if (kept_pages_) munmap(kept_pages_, kept_pages_bytes_);
  kept_pages_ = nullptr;
  keeps_all_ = false;
  next_file_.close();
}

/// The block is left in the file that is the present one no more.
void Arena::loosen(std::uint32_t first) noexcept {
  extents_.set_flags(first, Extents::kUsed | Extents::kFrozen | Extents::kLoose |
                                std::uint32_t(old_file_) << Extents::kFileShift);
  ++old_blocks_[old_file_];
}

void Arena::loosen_no_more(std::uint32_t first) noexcept {
  const std::size_t file = extents_.at(first).flags >> Extents::kFileShift;
  extents_.set_flags(first, Extents::kUsed | Extents::kFrozen);
  if (--old_blocks_[file] == 0) old_files_[file].close();
}

/// Makes private what is in its pages for nobody any more.
void Arena::settle(std::uint32_t first) noexcept {
  const File& file = old_files_[extents_.at(first).flags >> Extents::kFileShift];
  map_private(address_of(first), std::size_t{extents_.at(first).pages} * kPageBytes, file,
              std::size_t{first} * kPageBytes);
  loosen_no_more(first);
}

void Arena::settle_static() noexcept {
  File file{static_data_.descriptor, static_data_.inode};
  map_private(reinterpret_cast<std::byte*>(static_data_.base), static_data_.bytes, file, static_data_.offset);
  file.close();
  static_loose_ = false;
  static_data_.bytes = 0;
}

void Arena::map_private(std::byte* at, std::size_t bytes, const File& file, std::uint64_t offset) noexcept {
  if (!file.is_ours() || mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                              file.descriptor, off_t(offset)) == MAP_FAILED)
    fatal(
        "the shared heap cannot be made private for a fork: too many mappings, a limit on data (ulimit -d), "
        "or the program closed a descriptor that is not its own; DUNLIN_HEAP=private avoids it");
}

/// In the child: puts copies in the place of what stays.  What was never written stays so.
void Arena::copy_kept() noexcept {
  const auto copy = [](std::byte* at, std::size_t bytes, const File& file, std::uint64_t offset) {
    if (!file.is_ours()) fatal("a child cannot copy windows: the program closed a descriptor of the heap");
    void* const mapped =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) fatal("a child has no memory for its copies of the blocks with windows");
    madvise(mapped, bytes, MADV_HUGEPAGE);
    auto* const there = static_cast<std::byte*>(mapped);
    const auto end = off_t(offset + bytes);
    for (off_t from = off_t(offset);;) {
      from = lseek(file.descriptor, from, SEEK_DATA);
      if (from < 0 || from >= end) break;
      const off_t hole = lseek(file.descriptor, from, SEEK_HOLE), to = hole < end ? hole : end;
      const std::size_t begin = std::size_t(from) - offset;
      memcpy(there + begin, at + begin, std::size_t(to - from));
      from = to;
    }
    if (mremap(mapped, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED)
      fatal("a child has too many mappings for its copies of the blocks with windows");
  };
  // Neighbours of one file at once.
  const auto file_of = [this](std::uint32_t first) -> const File& {
    const std::uint32_t flags = extents_.at(first).flags;
    return flags & Extents::kLoose ? old_files_[flags >> Extents::kFileShift] : file_;
  };
  const std::uint32_t top = extents_.top();
  for (std::uint32_t first = 1; first < top;) {
    std::uint32_t end = first;
    while (end < top && is_kept(end) && &file_of(end) == &file_of(first)) end += extents_.at(end).pages;
    if (end > first)
      copy(address_of(first), std::size_t{end - first} * kPageBytes, file_of(first),
           std::size_t{first} * kPageBytes);
    else
      end += extents_.at(end).pages;
    first = end;
  }
  if (is_static_kept_)
    copy(reinterpret_cast<std::byte*>(static_data_.base), static_data_.bytes,
         {static_data_.descriptor, static_data_.inode}, static_data_.offset);
}

}  // namespace dunlin::heap
