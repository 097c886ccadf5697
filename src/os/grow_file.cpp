// See grow_file.hpp.
#include "os/grow_file.hpp"

#include <cerrno>
#include <fcntl.h>

namespace dunlin::os {

bool try_grow_file(int fd, std::uint64_t bytes) noexcept {
  int result = 0;
  do result = fallocate(fd, 0, off_t(bytes - 1), 1);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace dunlin::os
