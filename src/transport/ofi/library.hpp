// libfabric, loaded when a network is needed: the few functions that programs call by name.  Everything else
// of its interface goes through tables of what these return.
//
// Used by fabric.cpp.  Thread safety: `load` by one thread at a time; constant afterwards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/err.hpp"

struct fi_info;
struct fi_fabric_attr;
struct fid_fabric;

namespace dunlin::transport::ofi {

struct Library {
  int (*getinfo)(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                 const fi_info* hints, fi_info** info);
  void (*freeinfo)(fi_info* info);
  fi_info* (*dupinfo)(const fi_info* info);
  int (*fabric)(fi_fabric_attr* attributes, fid_fabric** fabric, void* context);
  const char* (*strerror)(int code);

  /// The functions, or a sentence why there is no libfabric.  It stays loaded.
  static Result<const Library*> load() noexcept;
};

}  // namespace dunlin::transport::ofi
