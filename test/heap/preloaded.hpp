// The preloaded allocator as tests see it; every test of this folder runs under LD_PRELOAD.
#pragma once

#include <dlfcn.h>

#include "memory/heap_face.hpp"

/// nullptr when the allocator is not preloaded.
inline const dunlin::memory::HeapFace* preloaded_heap() {
  using Find = const dunlin::memory::HeapFace* (*)(std::uint32_t);
  const auto find = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, dunlin::memory::kHeapFaceSymbol));
  return find ? find(dunlin::memory::HeapFace::kVersion) : nullptr;
}
