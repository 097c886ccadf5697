#include "transport/ofi/library.hpp"

#include <dlfcn.h>
#include <signal.h>

#include <array>

namespace dunlin::transport::ofi {
namespace {

constexpr char kFileName[] = "libfabric.so.1";

template <class Function>
bool find(void* file, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(::dlsym(file, name));
  return function != nullptr;
}

/// Libraries that libfabric brings along take signals when they are loaded (libinfinipath: SIGSEGV, SIGINT,
/// SIGTERM, ...), which are the program's, and ours where we report crashes.
class KeepSignals {
 public:
  KeepSignals() noexcept {
    for (int number = 1; number < int(before_.size()); ++number)
      (void)::sigaction(number, nullptr, &before_[std::size_t(number)]);
  }
  ~KeepSignals() {
    for (int number = 1; number < int(before_.size()); ++number)
      if (number != SIGKILL && number != SIGSTOP)
        (void)::sigaction(number, &before_[std::size_t(number)], nullptr);
  }
  KeepSignals(const KeepSignals&) = delete;

 private:
  std::array<struct sigaction, 32> before_ = {};  // those that have names
};

void* load_file() noexcept {
  const KeepSignals kept;
  return ::dlopen(kFileName, RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

Result<const Library*> Library::load() noexcept {
  static Library library = {};
  if (library.strerror) return &library;
  void* const file = load_file();
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
