// hot path: one load of the kernel table and two compares before a copy.
#include "copy/copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "copy/kernels.hpp"
#include "os/text_file.hpp"

namespace dunlin::copy {
namespace {

// Presets: AMD Zen 5, 2 virtual processors, 2 MiB L2, 32 MiB L3; docs/memory.md, "Copying well".
IntVariable string_bytes_min{"COPY_STRING_BYTES_MIN", 32 << 10, "bytes",
                             "copies of this size and more use the processor's block move", 0};
IntVariable stream_bytes{
    "COPY_STREAM_BYTES_MIN", 0, "bytes",
    "transfers of this size and more bypass the cache; 0: three quarters of the last cache", 0};
constexpr std::size_t kStreamedBytesMin = 4096;  // shorter pieces: the fence costs more than it saves

const Kernels kernels = detect_kernels();

/// Bytes of the last cache as /sys tells them (the C library's figure is that of all sockets on some
/// processors).
std::size_t last_cache_bytes() noexcept {
  constexpr std::size_t kUnknown = std::size_t{8} << 20;
  for (const char* index : {"index3", "index2"}) {
    const std::string text =
        os::read_one_line(std::string("/sys/devices/system/cpu/cpu0/cache/") + index + "/size");
    const auto kilobytes = std::size_t(std::strtoul(text.c_str(), nullptr, 10));
    if (kilobytes) return kilobytes << 10;
  }
  return kUnknown;
}

}  // namespace

const char* kernels_in_use() noexcept { return kernels.name; }

std::size_t stream_bytes_min() noexcept {
  const auto set = std::size_t(stream_bytes.get());
  static const std::size_t share = last_cache_bytes() / 4 * 3;
  return set ? set : share;
}

Hint hint_for(std::size_t bytes) noexcept {
  return bytes >= stream_bytes_min() ? Hint::off_cache : Hint::cached;
}

void bytes(std::byte* to, const std::byte* from, std::size_t bytes, Hint hint) noexcept {
  DUNLIN_DEBUG_ASSERT(to + bytes <= from || from + bytes <= to || bytes == 0);
  if (hint == Hint::off_cache && bytes >= kStreamedBytesMin)
    kernels.streaming(to, from, bytes);
  else if (hint == Hint::to_peer || bytes >= std::size_t(string_bytes_min.get()))
    kernels.string(to, from, bytes);
  else
    kernels.plain(to, from, bytes);
}

void load_before_stores(const std::byte* to, std::size_t bytes) noexcept {
  constexpr std::uintptr_t kWindow = 64 << 10;  // the kernel's fault_around_bytes
  const std::byte* const end = to + bytes;
  for (; to < end; to += kWindow - reinterpret_cast<std::uintptr_t>(to) % kWindow)
    asm volatile("" : : "r"(*to));
}

}  // namespace dunlin::copy
