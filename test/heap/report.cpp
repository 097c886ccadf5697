// Prints why malloc does not use the shared heap in this process, "in use" when it does, "absent" when the
// allocator is not preloaded; after having used every door of the allocator.  With an argument: allocates
// that many MiB first.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "test/heap/preloaded.hpp"

int main(int count, char** arguments) {
  const std::size_t bytes = (count > 1 ? std::strtoul(arguments[1], nullptr, 0) : 1) << 20;
  void* (*volatile get)(std::size_t) = std::malloc;  // at fixed addresses, a stub in the program
  void* blocks[] = {get(bytes), std::calloc(1, bytes), std::aligned_alloc(64, bytes), memalign(4096, bytes)};
  for (void* each : blocks) {
    if (!each) return std::puts("no memory"), 0;
    std::memset(each, 1, bytes);
    each = std::realloc(each, 2 * bytes);
    if (!each) return std::puts("no memory"), 0;
    std::free(each);
  }
  const dunlin::heap::Face* heap = preloaded_heap();
  std::puts(!heap ? "absent" : *heap->why_not_malloc() ? heap->why_not_malloc() : "in use");
  return 0;
}
