// See grow_file.hpp.
#include "os/grow_file.hpp"

#include <cerrno>
#include <cstring>
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

const char* why_no_shared_memory(int error) noexcept {
  rlimit space{};
  if (error == EFBIG) return "the size of files is limited (ulimit -f)";
  if (error == ENOMEM && getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    return "the address space is limited (ulimit -v)";
  return std::strerror(error);
}

}  // namespace dunlin::os
