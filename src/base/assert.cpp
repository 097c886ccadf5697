#include "base/assert.hpp"

#include "base/log.hpp"

namespace dunlin {
void assert_failed(const char* condition, const char* file, int line) noexcept {
  log::die("bug: assertion '%s' failed at %s:%d; please report it with the command that led here", condition,
           file, line);
}
}  // namespace dunlin
