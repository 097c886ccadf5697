#include "heap/heap.hpp"

#include <dlfcn.h>
#include <sys/single_threaded.h>

#include <cstdint>
#include <cstdlib>

#include "base/log.hpp"
#include "base/variable.hpp"
#include "heap/settings.hpp"

namespace dunlin::heap {
namespace {

constexpr Settings kPreset;

WordVariable heap_kind{"HEAP", "shared", "shared|private",
                       "whether malloc takes large blocks from memory that the node's other ranks can map"};
IntVariable block_bytes_min{"HEAP_BLOCK_BYTES_MIN", std::int64_t(kPreset.block_bytes_min), "bytes",
                            "smallest block that malloc takes from the shared heap", 4096};
IntVariable address_bytes{"HEAP_ADDRESS_BYTES", std::int64_t(kPreset.arena.address_bytes), "bytes",
                          "address space of one rank's shared heap; blocks beyond it are private", 64 << 20};
IntVariable cache_bytes_max{"HEAP_CACHE_BYTES_MAX", std::int64_t(kPreset.arena.cache_bytes_max), "bytes",
                            "freed memory that the shared heap keeps instead of giving it back to the system",
                            0};
IntVariable huge_percent{"HEAP_HUGE_PERCENT",
                         std::int64_t(kPreset.arena.huge_percent),
                         "%",
                         "blocks get huge pages before the program touches them up to this part of the "
                         "memory that there is for each CPU; 0: none does",
                         0,
                         100};
IntVariable fork_wait_us{"HEAP_FORK_WAIT_US",
                         std::int64_t(kPreset.arena.fork_wait_us),
                         "us",
                         "how long fork waits for the child to exec before shared blocks become private, "
                         "where the allocator is preloaded",
                         0,
                         1000000};
IntVariable static_moves{"HEAP_STATIC",
                         kPreset.moves_static_data,
                         "",
                         "move static data of the program to where the node's other ranks can map it",
                         0,
                         1};

constinit Arena own_arena;
const char* why_not_malloc() noexcept { return "the allocator is not preloaded (start with mpirun)"; }

struct Heap {
  const Face* face;
  const char* origin;
};

bool has_sanitizer() noexcept {
  for (const char* each : {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init"})
    if (dlsym(RTLD_DEFAULT, each)) return true;
  return false;
}

Heap open_own() noexcept {
  ArenaSettings settings;
  settings.address_bytes = std::size_t(address_bytes.get());
  settings.cache_bytes_max = std::size_t(cache_bytes_max.get());
  settings.huge_percent = std::size_t(huge_percent.get());
  // Never: handlers that the program registered before ours would run in the child while it shares memory
  // with its parent.  The preloaded allocator's are the first.
  settings.fork_wait_us = 0;
  if (own_arena.open(settings)) own_arena.watch_forks(false);
  return {&kFaceOf<own_arena, why_not_malloc>, "built in"};
}

Heap find_heap() noexcept {
  using Find = const Face* (*)(std::uint32_t);
  const auto find = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, kFaceSymbol));
  const Face* preloaded = find ? find(Face::kVersion) : nullptr;
  if (find && !preloaded)
    log::warn(
        "the preloaded allocator is of another version of this library; large messages are copied twice");
  if (preloaded && preloaded->control()) return {preloaded, "preloaded"};
  return open_own();
}

const Heap& found_heap() noexcept {
  static const Heap found = find_heap();
  return found;
}

}  // namespace

const Face& face() noexcept { return *found_heap().face; }
const char* origin() noexcept { return found_heap().origin; }

const char* move_static_data() noexcept {
  Control* control = face().control();
  if (!control) return face().why_not();
  if (control->regions[Control::kStatic].bytes) return "";
  if (!static_moves.get()) return "DUNLIN_HEAP_STATIC=0 switches it off";
  if (has_sanitizer()) return "the program runs with a sanitizer";
  if (!__libc_single_threaded) return "other threads run already, and could write while it is moved";
  const char* why = "";
  face().adopt_static(&why);
  return why;
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > PTRDIFF_MAX) return nullptr;
  if (void* block = face().allocate(bytes ? bytes : 1, alignment)) return block;
  void* block = nullptr;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  return posix_memalign(&block, alignment, bytes ? bytes : 1) == 0 ? block : nullptr;
}

void release(void* block) noexcept {
  if (face().owns(block))
    face().release(block);
  else
    std::free(block);
}

bool is_shared(const void* at, std::size_t bytes) noexcept { return face().is_shared(at, bytes); }

void keep_all_pages() noexcept {
  [[maybe_unused]] static Kept& all = *new Kept(nullptr, SIZE_MAX);  // for good
}

}  // namespace dunlin::heap
