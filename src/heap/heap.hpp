// The shared heap of this process: the preloaded allocator's when there is one, else an arena of the
// library's own.
//
// `allocate`, `release` and `is_shared` are for everybody, the rest is for peer/ and runtime/.
#pragma once

#include <cstddef>

#include "heap/face.hpp"

namespace dunlin::heap {

/// The table of the heap in use; the first call opens it.  Thread safe.
const Face& face() noexcept;

/// "preloaded" or "built in", for reports.
const char* origin() noexcept;

/// Moves static data where that is still to be done and allowed (one thread only).  "" when it is moved, else
/// why not.
const char* move_static_data() noexcept;

/// The blocks behind MPI_Alloc_mem and the library's own large buffers: from the shared heap where it works,
/// so that peers can map them, else from the C library.  `alignment` is a power of two.  nullptr when memory
/// is short.
void* allocate(std::size_t bytes, std::size_t alignment = 64) noexcept;
void release(void* block) noexcept;

/// Whether peers can map these bytes of ours now (they lie in the shared heap or in moved static data).
bool is_shared(const void* at, std::size_t bytes) noexcept;

/// While one lives, these bytes of ours stay in their pages when this process forks, as far as they lie in
/// blocks of the shared heap or in moved static data: others store to them at any moment.  Costs every fork a
/// copy of the blocks for the child.
class Kept {
 public:
  Kept() = default;
  Kept(const void* at, std::size_t bytes) noexcept { keep(at, bytes); }
  Kept(const Kept&) = delete;
  ~Kept() {
    if (pages_.bytes) face().keep_no_more(pages_);
  }
  /// Once.
  void keep(const void* at, std::size_t bytes) noexcept {
    pages_.begin = reinterpret_cast<std::uintptr_t>(at);
    pages_.bytes = bytes;
    if (bytes) face().keep(pages_);
  }

 private:
  KeptPages pages_;
};

/// Of all that this process has: a network has pinned some of it.
void keep_all_pages() noexcept;

/// While one lives, blocks get no pages before they are touched: for who takes much and uses little of it.
class LateCommit {
 public:
  LateCommit() noexcept { face().commit_late(true); }
  ~LateCommit() { face().commit_late(false); }
  LateCommit(const LateCommit&) = delete;
};

}  // namespace dunlin::heap
