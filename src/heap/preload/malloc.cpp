// The allocator that mpirun preloads (libdunlin_heap.so): large blocks come from the shared heap, so that the
// node's other ranks can map them; everything else is the C library's.  A program may link it too.
// docs/memory.md.
//
// hot path: a small malloc costs three instructions more than without this library, and so does a small free;
// what they need lies in one cache line, and what large blocks need is out of line, so that nothing is saved
// or restored on the way to the C library.  The jump there always has the same target, from the first call
// on: the processor takes a jump that once went elsewhere for one that changes, and foretells it slower (0.2
// ns more a jump on AMD Zen 5).  So the first call, and everything where another allocator lies below, goes
// the way of large blocks.
//
// Order at start: the first call of any function, which may be long before main and inside the loader, finds
// the next allocator, opens the arena and registers the fork handlers, before those of other libraries; from
// the constructor on blocks come from the arena.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "heap/arena.hpp"
#include "heap/face.hpp"
#include "heap/preload/next_allocator.hpp"
#include "heap/settings.hpp"

extern "C" {
extern char** environ;
[[gnu::noplt]] void* __libc_malloc(std::size_t);
[[gnu::noplt]] void* __libc_calloc(std::size_t, std::size_t);
[[gnu::noplt]] void* __libc_realloc(void*, std::size_t);
[[gnu::noplt]] void* __libc_memalign(std::size_t, std::size_t);
[[gnu::noplt]] void __libc_free(void*);
}

namespace dunlin {
void assert_failed(const char* condition, const char*, int) noexcept {
  heap::fatal(condition);  // the library's own version prints with functions that may allocate
}
}  // namespace dunlin

namespace dunlin::heap {
namespace {

constinit Arena arena;
/// What every call looks at.  Both 0 until the first call has run, and for good where another allocator than
/// the C library's lies below: every call then goes the way of large blocks.
struct alignas(16) Gate {
  // SIZE_MAX until our constructor runs, and for good where the arena steps aside.  What libraries allocate
  // in their constructors before ours (the C++ library's 72 KiB for exceptions, in every process) is never
  // sent and is not worth a huge page.
  std::size_t block_bytes_min;
  // The arena's first address; above all where there is none.  The C library's small blocks lie below it,
  // those of the first heap anyway, and others because the kernel maps downwards.
  std::uintptr_t arena_begin;
};
static_assert(sizeof(Gate) == 16);
constinit Gate gate = {0, 0};
/// The allocator below, the C library's or another: for everything but the short way to the C library's.
constinit NextAllocator next = {};
constinit std::size_t block_bytes_min_wanted = SIZE_MAX;
// Neither in the C library's per-thread caches (to 1032 bytes) nor in its bins of one size (to 1008).
constexpr std::size_t kJoiningBytes = 2048;
constinit const char* aside = "the allocator has not started";
constinit bool moves_static_data = false;

/// Runs once, in the first thread, before any other exists.  While it runs (dlsym may allocate) the C library
/// serves.
[[gnu::noinline]] void start() noexcept {
  next = {__libc_malloc, __libc_calloc, __libc_realloc, __libc_memalign, __libc_free, nullptr};
  gate = {SIZE_MAX, UINTPTR_MAX};
  const int saved_errno = errno;
  const NextAllocator found = find_next_allocator();
  const Settings settings = read_settings(environ);
  aside = settings.is_shared ? why_step_aside(found, reinterpret_cast<const void*>(&malloc), environ)
                             : "DUNLIN_HEAP=private switches it off";
  if (!*aside && !arena.open(settings.arena)) aside = arena.why_not();
  next = found;
  if (found.allocate != __libc_malloc) gate = {0, 0};
  if (!*aside) {
    arena.watch_forks(true);
    gate.arena_begin = arena.begin();
    block_bytes_min_wanted = settings.block_bytes_min > kPageBytes ? settings.block_bytes_min : kPageBytes;
    moves_static_data = settings.moves_static_data;
  }
  errno = saved_errno;
}

/// Before anything but the short way to the C library.
void start_once() noexcept {
  if (!next.allocate) [[unlikely]]
    start();
}

using Fork = pid_t (*)() noexcept;
constinit Fork next_fork = nullptr;
constinit Fork next_fork_without_handlers = nullptr;

void find_forks() noexcept {
  next_fork = reinterpret_cast<Fork>(dlsym(RTLD_NEXT, "fork"));
  // C libraries before 2.34 have none.
  next_fork_without_handlers = reinterpret_cast<Fork>(dlsym(RTLD_NEXT, "_Fork"));
}

[[gnu::constructor]] void watch() noexcept {
  start_once();
  find_forks();
  if (!arena.is_open()) return;
  gate.block_bytes_min = block_bytes_min_wanted;
  const char* why = "";
  if (moves_static_data) arena.adopt_static(&why);
}

/// A block from the arena, and what the C library would have done on the way: a large request makes it join
/// its freed small blocks.  Without that they stay scattered, and so do the small blocks that follow
/// (Python's json with every object from malloc: 20 % slower).
void* take_from_arena(std::size_t bytes, std::size_t alignment, bool zeroed) noexcept {
  if (bytes < gate.block_bytes_min) return nullptr;
  void* block = arena.allocate(bytes, alignment, zeroed);
  if (block) next.release(next.allocate(kJoiningBytes));
  return block;
}
[[gnu::noinline]] void* allocate_large(std::size_t bytes) noexcept {
  start_once();
  void* block = take_from_arena(bytes, 1, false);
  return block ? block : next.allocate(bytes);
}
[[gnu::noinline]] void* allocate_large_zeroed(std::size_t bytes) noexcept {
  start_once();
  void* block = take_from_arena(bytes, 1, true);
  return block ? block : next.allocate_zeroed(1, bytes);
}
[[gnu::noinline]] void* allocate_large_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  start_once();
  const bool is_power = alignment && (alignment & (alignment - 1)) == 0;
  void* block = is_power ? take_from_arena(bytes, alignment, false) : nullptr;
  return block ? block : next.allocate_aligned(alignment, bytes);
}

[[gnu::noinline]] void release_high(void* block) noexcept {
  start_once();
  if (arena.owns(block))
    arena.release(block);
  else
    next.release(block);
}

/// Moves a block to where its new size belongs.  nullptr: short of memory, the block is unchanged.
void* move_block(void* block, std::size_t bytes) noexcept {
  const bool is_ours = arena.owns(block);
  const std::size_t held = is_ours ? arena.usable_bytes(block) : next.usable_bytes(block);
  void* moved = nullptr;
  if (bytes >= gate.block_bytes_min && is_ours && bytes > held) {
    // A block that grows will grow again: put it where free pages follow it.
    moved = take_from_arena(bytes + bytes / 2, 1, false);
    if (moved) arena.try_resize(moved, bytes);
  }
  if (!moved) moved = take_from_arena(bytes, 1, false);
  if (!moved && !is_ours) return next.reallocate(block, bytes);
  if (!moved) moved = next.allocate(bytes);
  if (!moved) return nullptr;
  memcpy(moved, block, held < bytes ? held : bytes);
  free(block);
  return moved;
}
[[gnu::noinline]] void* reallocate_large(void* block, std::size_t bytes) noexcept {
  start_once();
  const bool is_ours = arena.owns(block);
  if (!is_ours && (bytes < gate.block_bytes_min || !arena.is_open())) return next.reallocate(block, bytes);
  if (bytes > PTRDIFF_MAX) {  // sizes below may grow by half without wrapping
    errno = ENOMEM;
    return nullptr;
  }
  if (bytes == 0) {
    free(block);
    return nullptr;
  }
  if (is_ours && bytes >= gate.block_bytes_min && arena.try_resize(block, bytes)) return block;
  return move_block(block, bytes);
}

const char* why_not_malloc() noexcept { return aside; }

}  // namespace
}  // namespace dunlin::heap

using namespace dunlin::heap;
#define DUNLIN_EXPORT extern "C" [[gnu::visibility("default")]]

DUNLIN_EXPORT void* malloc(std::size_t bytes) noexcept {
  if (bytes >= gate.block_bytes_min) [[unlikely]]
    return allocate_large(bytes);
  return __libc_malloc(bytes);
}

DUNLIN_EXPORT void free(void* block) noexcept {
  if (reinterpret_cast<std::uintptr_t>(block) >= gate.arena_begin) [[unlikely]]
    return release_high(block);
  __libc_free(block);
}

DUNLIN_EXPORT void* calloc(std::size_t count, std::size_t each) noexcept {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(count, each, &bytes) && bytes >= gate.block_bytes_min) [[unlikely]]
    return allocate_large_zeroed(bytes);
  return __libc_calloc(count, each);  // sets ENOMEM on overflow
}

DUNLIN_EXPORT void* realloc(void* block, std::size_t bytes) noexcept {
  if (!block) return malloc(bytes);
  if (!arena.owns(block) && bytes < gate.block_bytes_min) return __libc_realloc(block, bytes);
  return reallocate_large(block, bytes);
}

DUNLIN_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t each) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, each, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, bytes);
}

DUNLIN_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (bytes >= gate.block_bytes_min) [[unlikely]]
    return allocate_large_aligned(alignment, bytes);
  return __libc_memalign(alignment, bytes);
}

DUNLIN_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}

DUNLIN_EXPORT int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  const int saved_errno = errno;
  void* made = memalign(alignment, bytes);
  errno = saved_errno;
  if (!made) return ENOMEM;
  *block = made;
  return 0;
}

DUNLIN_EXPORT void* valloc(std::size_t bytes) noexcept { return memalign(kPageBytes, bytes); }

DUNLIN_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  std::size_t rounded = 0;
  if (__builtin_add_overflow(bytes, kPageBytes - 1, &rounded)) {
    errno = ENOMEM;
    return nullptr;
  }
  return memalign(kPageBytes, rounded & ~(kPageBytes - 1));
}

DUNLIN_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  if (!block) return 0;
  start_once();
  return arena.owns(block) ? arena.usable_bytes(block) : next.usable_bytes(block);
}

DUNLIN_EXPORT pid_t fork() noexcept {
  if (!next_fork) find_forks();  // another library's constructor forks
  return arena.may_fork() ? next_fork() : -1;
}

/// What `pthread_atfork` calls: no other library's handlers come before ours.
DUNLIN_EXPORT int __register_atfork(void (*before)(), void (*parent)(), void (*child)(),
                                   void* library) noexcept {
  start_once();
  using Register = int (*)(void (*)(), void (*)(), void (*)(), void*) noexcept;
  static const auto next_register = reinterpret_cast<Register>(dlsym(RTLD_NEXT, "__register_atfork"));
  return next_register(before, parent, child, library);
}

/// `fork` does not come here: it calls the C library's own.
DUNLIN_EXPORT pid_t _Fork() noexcept {
  if (next_fork_without_handlers) return arena.may_fork() ? arena.fork_by(next_fork_without_handlers) : -1;
  errno = ENOSYS;
  return -1;
}

// C23; newer C libraries have them, and would take a block of ours for one of theirs.
DUNLIN_EXPORT void free_sized(void* block, std::size_t) noexcept { free(block); }
DUNLIN_EXPORT void free_aligned_sized(void* block, std::size_t, std::size_t) noexcept { free(block); }

/// What the MPI library asks for (heap/face.hpp).
DUNLIN_EXPORT const Face* dunlin_heap_face(std::uint32_t version) noexcept {
  static constexpr const Face* kFace = &kFaceOf<arena, why_not_malloc>;
  return version == Face::kVersion ? kFace : nullptr;
}
