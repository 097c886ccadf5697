// The preloaded allocator as tests see it; every test of this folder runs under LD_PRELOAD.
#pragma once

#include <dlfcn.h>

#include "heap/face.hpp"

/// nullptr when the allocator is not preloaded.
inline const dunlin::heap::Face* preloaded_heap() {
  using Find = const dunlin::heap::Face* (*)(std::uint32_t);
  const auto find = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, dunlin::heap::kFaceSymbol));
  return find ? find(dunlin::heap::Face::kVersion) : nullptr;
}
