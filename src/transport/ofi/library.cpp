#include "transport/ofi/library.hpp"

#include <dlfcn.h>

namespace dunlin::transport::ofi {
namespace {

constexpr char kFileName[] = "libfabric.so.1";

template <class Function>
bool find(void* file, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(::dlsym(file, name));
  return function != nullptr;
}

}  // namespace

Result<const Library*> Library::load() noexcept {
  static Library library = {};
  if (library.strerror) return &library;
  void* const file = ::dlopen(kFileName, RTLD_NOW | RTLD_LOCAL);
  if (!file)
    return fail(Err::other,
                "the ranks of this job are on several nodes, and %s, which joins them, cannot be loaded: %s",
                kFileName, ::dlerror());
  Library found = {};
  if (!find(file, "fi_getinfo", found.getinfo) || !find(file, "fi_freeinfo", found.freeinfo) ||
      !find(file, "fi_dupinfo", found.dupinfo) || !find(file, "fi_fabric", found.fabric) ||
      !find(file, "fi_strerror", found.strerror))
    return fail(Err::other, "%s lacks a function: %s", kFileName, ::dlerror());
  library = found;
  return &library;
}

}  // namespace dunlin::transport::ofi
