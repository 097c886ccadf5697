// Identity of the machine; see host_identity.hpp.
#include "os/host_identity.hpp"

#include <sys/stat.h>

#include "os/text_file.hpp"

namespace dunlin::os {

std::string host_identity() {
  std::string identity = read_one_line("/proc/sys/kernel/random/boot_id");
  struct stat status;
  if (::stat("/proc/self/ns/net", &status) == 0) identity += '.' + std::to_string(status.st_ino);
  return identity;
}

}  // namespace dunlin::os
