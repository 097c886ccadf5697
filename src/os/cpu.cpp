// See cpu.hpp.
#include "os/cpu.hpp"

#include <cstdlib>
#include <string>

#include "os/text_file.hpp"

namespace dunlin::os {

bool stores_slowly_to_owned_lines() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_is("amd");
#else
  return false;
#endif
}

std::size_t cache_bytes(int level) noexcept {
  const std::string path =
      "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(level) + "/size";  // in KiB: "1024K"
  return std::size_t(std::strtoull(read_one_line(path).c_str(), nullptr, 10)) << 10;
}

}  // namespace dunlin::os
