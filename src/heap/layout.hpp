// What the owner of a shared heap tells its peers: one small memfd per process, mapped by every peer that
// attaches.
//
// Written by the owner (arena.cpp, arena_fork.cpp, static_data.cpp), read by shared_heap_provider.cpp.
// docs/memory.md, "Generations".
//
// Thread safety: shared between processes.  Invariants:
//  1. magic, version, pid and nonce are written before the descriptor can be known to anybody.
//  2. `generation` is odd while the owner changes regions or frozen bits, else even and at least 2.  Whoever
//  uses a
//     mapping loads it before (acquire) and after the last access (with a full fence between): equal and even
//     means that every access went to memory that the owner and all peers share.
//  3. Frozen bits have one writer at a time (the owner, under the arena's lock); a set bit means that the
//     owner's page is private since a fork, or loose (arena_kept.cpp), and is not that of the present file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dunlin::heap {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
inline constexpr std::size_t kHugePagePages = kHugePageBytes / kPageBytes;
/// Less static data than this stays in small pages: 2 or 4 MiB would be too much to spend on it.
inline constexpr std::size_t kHugeStaticBytesMin = std::size_t{256} << 10;

/// One range of the owner's addresses that lies in a memfd.
struct Region {
  std::uint64_t base;       // address in the owner
  std::uint64_t bytes;      // 0: the region does not exist
  std::uint64_t inode;      // of the memfd, so that a reused descriptor number is noticed
  std::int32_t descriptor;  // number in the owner
  std::uint32_t offset;     // of `base` in the file (static data lies at its address modulo 2 MiB)

  /// Size of the file: whole huge pages.
  static constexpr std::size_t file_bytes(std::size_t offset, std::size_t bytes) noexcept {
    return (offset + bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  }
};

struct Control {
  static constexpr std::uint64_t kMagic = 0x3270616568646e44;  // changes with the layout
  static constexpr int kRegions = 2;
  enum Index : int { kHeap = 0, kStatic = 1 };

  std::uint64_t magic;
  std::uint64_t nonce;  // random; also in the published address
  std::uint32_t pid;
  std::uint32_t any_frozen;  // 0: no bit of `frozen` is set; written by the owner inside odd generations
  alignas(64) std::atomic<std::uint64_t> generation;
  // Of the owner, in memory of its own (MPI_Win_create, dynamic ones): others may write that at any moment.
  std::atomic<std::uint32_t> open_windows;  // written by the owner
  Region regions[kRegions];
  alignas(
      64) std::atomic<std::uint32_t> readers;  // processes that read this one by system calls now (cma.cpp)
  /// One bit per page of region kHeap; behind them one bit for all of region kStatic.
  alignas(4096) std::atomic<std::uint64_t> frozen[];

  static constexpr std::size_t frozen_words(std::size_t heap_bytes) noexcept {
    return heap_bytes / kPageBytes / 64 + 2;
  }
  static constexpr std::size_t bytes_for(std::size_t heap_bytes) noexcept {
    return sizeof(Control) + frozen_words(heap_bytes) * 8;
  }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(Control) == 4096);

}  // namespace dunlin::heap
