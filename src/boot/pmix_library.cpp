// Loads libpmix.so.2; see pmix_library.hpp.
#include "boot/pmix_library.hpp"

#include <dlfcn.h>

#include "base/variable.hpp"

namespace dunlin::boot::pmix {
namespace {

WordVariable file{"PMIX", "libpmix.so.2", "",
                  "library that speaks to PMIx launchers (prterun, srun --mpi=pmix)"};

}  // namespace

Result<const Library*> library() noexcept {
  static Library loaded{};
  if (loaded.init) return &loaded;
  void* const handle = ::dlopen(file.get(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fail(
        Err::other,
        "started by a PMIx launcher (PMIX_NAMESPACE is set), but the library that speaks to it cannot "
        "be loaded: %s; install it, or name it in DUNLIN_PMIX",
        ::dlerror());
  bool is_complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    is_complete = is_complete && function;
  };
  find(loaded.finalize, "PMIx_Finalize");
  find(loaded.put, "PMIx_Put");
  find(loaded.commit, "PMIx_Commit");
  find(loaded.fence, "PMIx_Fence");
  find(loaded.get, "PMIx_Get");
  find(loaded.abort, "PMIx_Abort");
  find(loaded.error_string, "PMIx_Error_string");
  find(loaded.init, "PMIx_Init");
  if (is_complete) return &loaded;
  loaded.init = nullptr;
  return fail(Err::other, "%s is no PMIx library", file.get());
}

}  // namespace dunlin::boot::pmix
