// A process that nobody launched; see singleton.hpp.
#include "boot/singleton.hpp"

#include <unistd.h>

#include "base/assert.hpp"
#include "base/log.hpp"

namespace dunlin::boot {

Err SingletonBoot::put(std::string_view key, std::string_view value) noexcept {
  values_.emplace(key, value);
  return Err::ok;
}

Result<std::string> SingletonBoot::get(int rank, std::string_view key) noexcept {
  DUNLIN_ASSERT(rank == 0);
  const auto found = values_.find(key);
  if (found == values_.end())
    return fail(Err::other, "rank %d put nothing under \"%.*s\"", rank, int(key.size()), key.data());
  return found->second;
}

void SingletonBoot::abort(int code, const char* message) noexcept {
  log::warn("%s", message);
  ::_exit(code & 0xff ? code & 0xff : 1);
}

}  // namespace dunlin::boot
