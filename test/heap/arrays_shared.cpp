// For arrays.f90: whether peers can map these bytes.
#include "test/heap/preloaded.hpp"

extern "C" int lies_shared(const void* at, std::size_t bytes) {
  const auto* heap = preloaded_heap();
  return heap && heap->is_shared(at, bytes);
}
