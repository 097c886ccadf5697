// Puts the executable's writable static data (C arrays, Fortran COMMON) under a memfd, so that peers can map
// it.
//
// Called once by the preloaded allocator before main, or at init while the process has one thread.  The range
// goes from the end of what the loader made read-only (RELRO) to the end of .bss; its bytes are copied into
// the file and the file is mapped over it.  Pages of .bss that nobody touched are not copied, so that 1 GiB
// of them costs less than a millisecond.  The file starts and ends at huge pages, so that peers, who map all
// of it, get by with a few page faults.  Data of shared objects stays where it is.  docs/memory.md, "Static
// data".
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "heap/arena.hpp"
#include "heap/arena_lock.hpp"
#include "heap/mapped_file.hpp"

namespace dunlin::heap {
namespace {

constexpr std::size_t kBytesMin = std::size_t{64} << 10;  // below, no message is large enough to profit

struct DataRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t touched_end = 0;  // pages before it come from the executable's file and are always copied
};

std::uintptr_t round_down(std::uintptr_t value) noexcept { return value & ~(kPageBytes - 1); }
std::uintptr_t round_up(std::uintptr_t value) noexcept { return round_down(value + kPageBytes - 1); }

/// dl_iterate_phdr calls this for the executable first; a result other than 0 ends the walk.
int find_range(dl_phdr_info* info, std::size_t, void* out) noexcept {
  auto& range = *static_cast<DataRange*>(out);
  std::uintptr_t relro_end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type == PT_GNU_RELRO)
      relro_end = round_down(info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_W) || (header.p_flags & PF_X)) continue;
    const std::uintptr_t at = info->dlpi_addr + header.p_vaddr;
    const std::uintptr_t begin = relro_end > round_down(at) ? relro_end : round_down(at);
    const std::uintptr_t end = round_up(at + header.p_memsz);
    if (end <= begin || end - begin <= range.end - range.begin) continue;  // the largest such segment
    range = {begin, end, round_up(at + header.p_filesz)};
  }
  return 1;
}

/// Copies what differs from zero pages; `to` is the file mapped elsewhere.
void copy_range(std::byte* to, const DataRange& range) noexcept {
  const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  constexpr std::size_t kBatch = 512;
  std::uint64_t entries[kBatch];
  for (std::uintptr_t at = range.begin; at < range.end; at += kBatch * kPageBytes) {
    const std::size_t left = (range.end - at) / kPageBytes;
    const std::size_t pages = left < kBatch ? left : kBatch;
    const bool is_known =
        pagemap >= 0 && pread(pagemap, entries, pages * 8, off_t(at / kPageBytes * 8)) == ssize_t(pages * 8);
    for (std::size_t i = 0; i < pages; ++i) {
      const std::uintptr_t page = at + i * kPageBytes;
      constexpr int kPresentOrSwapped = 62;  // two top bits of a pagemap entry (proc_pid_pagemap(5))
      if (is_known && page >= range.touched_end && entries[i] >> kPresentOrSwapped == 0) continue;
      memcpy(to + (page - range.begin), reinterpret_cast<const void*>(page), kPageBytes);
    }
  }
  if (pagemap >= 0) close(pagemap);
}

}  // namespace

bool Arena::adopt_static(const char** why) noexcept {
  *why = "there is no shared heap";
  if (!base_ || has_left_) return false;
  DataRange range;
  dl_iterate_phdr(find_range, &range);
  *why = "the executable has little static data";
  if (range.end - range.begin < kBytesMin) return false;

  const ArenaLock hold(lock_);
  Region& region = control_->regions[Control::kStatic];
  *why = "it was moved already";
  if (region.bytes || static_frozen_) return false;
  const std::size_t bytes = range.end - range.begin;
  const std::size_t offset = range.begin % kHugePageBytes;  // equal offsets let the kernel use huge pages
  const std::size_t file_bytes = Region::file_bytes(offset, bytes);
  *why = "the kernel refuses a memfd or a mapping";
  File file = File::make("dunlin-static", file_bytes);
  if (file.descriptor < 0) return false;
  std::byte* const mapped = map_file_aligned(file.descriptor, file_bytes, PROT_READ | PROT_WRITE);
  if (!mapped) {
    file.close();
    return false;
  }
  if (bytes >= kHugeStaticBytesMin && may_commit(file_bytes, true)) try_collapse(mapped, file_bytes);
  copy_range(mapped + offset, range);
  munmap(mapped, file_bytes);
  if (mmap(reinterpret_cast<void*>(range.begin), bytes, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file.descriptor, off_t(offset)) == MAP_FAILED) {
    file.close();
    return false;
  }
  control_->generation.fetch_add(1, std::memory_order_seq_cst);
  static_data_ = {range.begin, bytes, file.inode, file.descriptor, std::uint32_t(offset)};
  region = static_data_;
  control_->generation.fetch_add(1, std::memory_order_seq_cst);
  *why = "";
  return true;
}

}  // namespace dunlin::heap
