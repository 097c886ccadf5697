// Small files of /proc and /sys; see text_file.hpp.
#include "os/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace dunlin::os {

std::string read_text_file(const std::string& path) {
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char block[4096];
  for (;;) {
    const ssize_t got = ::read(fd, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block, std::size_t(got));
  }
  ::close(fd);
  return text;
}

std::string read_one_line(const std::string& path) {
  std::string text = read_text_file(path);
  if (const std::size_t end = text.find('\n'); end != std::string::npos) text.erase(end);
  return text;
}

}  // namespace dunlin::os
