#include "heap/preload/next_allocator.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "heap/arena.hpp"
#include "heap/settings.hpp"

extern "C" void* __libc_malloc(std::size_t);  // the GNU C library's own name for its malloc

namespace dunlin::heap {
namespace {

template <class F>
void look_up(F& function, const char* name) noexcept {
  function = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
  if (!function) fatal("the preloaded allocator finds no allocator below it");
}

/// Whether a function that is found by this name belongs to another object than `own`.  An executable at
/// fixed addresses that takes malloc's address is found with its own jump to whoever has malloc: an undefined
/// symbol with a value.
bool is_anothers(const char* name, const void* own) noexcept {
  Dl_info ours{};
  Dl_info found{};
  void* symbol = nullptr;
  const void* function = dlsym(RTLD_DEFAULT, name);
  if (!dladdr(own, &ours) || !dladdr1(function, &found, &symbol, RTLD_DL_SYMENT)) return true;
  const bool is_jump = symbol && static_cast<const ElfW(Sym)*>(symbol)->st_shndx == SHN_UNDEF;
  return !is_jump && found.dli_fbase != ours.dli_fbase;
}

/// vm.overcommit_memory=2 promises that malloc fails in time; pages of a memfd would end in SIGBUS instead.
bool is_overcommit_forbidden() noexcept {
  char text = '0';
  const int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool was_read = read(file, &text, 1) == 1;
  close(file);
  return was_read && text == '2';
}

bool is_data_limited() noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

NextAllocator find_next_allocator() noexcept {
  NextAllocator next{};
  look_up(next.allocate, "malloc");
  look_up(next.allocate_zeroed, "calloc");
  look_up(next.reallocate, "realloc");
  look_up(next.allocate_aligned, "memalign");
  look_up(next.release, "free");
  look_up(next.usable_bytes, "malloc_usable_size");
  return next;
}

const char* why_step_aside(const NextAllocator& next, const void* own_malloc,
                           char* const* environment) noexcept {
  const char* preloads = find_setting(environment, "LD_PRELOAD");
  if (preloads && strstr(preloads, "vgpreload")) return "the program runs under valgrind";
  for (const char* each : {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init"})
    if (dlsym(RTLD_DEFAULT, each)) return "the program runs with a sanitizer";
  for (const char* each : {"malloc", "calloc", "realloc", "free", "memalign", "malloc_usable_size"})
    if (is_anothers(each, own_malloc)) return "the program brings an allocator of its own";
  if (next.allocate != __libc_malloc) return "another allocator is loaded";
  if (is_data_limited()) return "the size of data is limited (ulimit -d), which the shared heap would evade";
  if (is_overcommit_forbidden()) return "vm.overcommit_memory is 2, which the shared heap would evade";
  return "";
}

}  // namespace dunlin::heap
