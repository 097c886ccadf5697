// What mlockall makes resident and a core dump would write of the preloaded heap: about what the program
// uses, and not the whole of its address space.  The heap has to be small enough (DUNLIN_HEAP_ADDRESS_BYTES)
// for a run that fails.
#include <sys/mman.h>
#include <sys/stat.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "test/heap/preloaded.hpp"

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kSpareBytes = 12 * kMiB;  // a step of the open part, and huge pages begun

const dunlin::heap::Region& region() {
  return preloaded_heap()->control()->regions[dunlin::heap::Control::kHeap];
}

std::size_t resident_bytes() {
  struct stat status {};
  return fstat(region().descriptor, &status) == 0 ? std::size_t(status.st_blocks) * 512 : SIZE_MAX;
}

/// Bytes of the heap's addresses that a core dump includes.
std::size_t dumped_bytes() {
  std::FILE* maps = std::fopen("/proc/self/smaps", "r");
  char line[512];
  std::size_t bytes = 0, dumped = 0;
  while (maps && std::fgets(line, sizeof line, maps)) {
    std::uint64_t begin = 0, end = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &begin, &end) == 2)
      bytes = begin >= region().base && end <= region().base + region().bytes ? end - begin : 0;
    if (std::strncmp(line, "VmFlags:", 8) == 0 && !std::strstr(line, " dd")) dumped += bytes;
  }
  if (maps) std::fclose(maps);
  return dumped;
}

bool is_at_most(const char* what, std::size_t bytes, std::size_t used_bytes) {
  std::printf("%s: %zu MiB while %zu MiB are in use\n", what, bytes / kMiB, used_bytes / kMiB);
  return bytes <= used_bytes + kSpareBytes;
}

char* get(std::size_t bytes) { return static_cast<char*>(std::memset(std::malloc(bytes), 1, bytes)); }

}  // namespace

int main() {
  if (!preloaded_heap() || !preloaded_heap()->control()) return 1;
  char* small = get(4 * kMiB);
  if (!is_at_most("dumped", dumped_bytes(), 4 * kMiB)) return 2;
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 77;  // not permitted here
  if (!is_at_most("locked", resident_bytes(), 4 * kMiB)) return 3;
  char* large = get(64 * kMiB);
  if (!preloaded_heap()->is_shared(large, 64 * kMiB)) return 4;
  if (!is_at_most("locked", resident_bytes(), 68 * kMiB)) return 5;
  if (!is_at_most("dumped", dumped_bytes(), 68 * kMiB)) return 6;
  std::free(small);
  std::free(large);
  return 0;
}
