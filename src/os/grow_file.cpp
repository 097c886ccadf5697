// See grow_file.hpp.
#include "os/grow_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/resource.h>

namespace dunlin::os {

bool try_grow_file(int fd, std::uint64_t bytes) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {  // the kernel would kill the process
    errno = EFBIG;
    return false;
  }
  int result = 0;
  do result = fallocate(fd, 0, off_t(bytes - 1), 1);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace dunlin::os
