// hot path: one load of the kernel table and two compares before a copy.
#include "copy/copy.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "copy/kernels.hpp"
#include "os/cpu.hpp"

namespace dunlin::copy {
namespace {

IntVariable stream_bytes{
    "COPY_STREAM_BYTES_MIN", 0, "bytes",
    "transfers of this size and more bypass the cache; 0: three quarters of the last cache", 0};
WordVariable take_lines{
    "TAKE_LINES", "auto", "auto|always|never",
    "whether a reader stores to the lines that it has read, so that they are fast to write for "
    "their owner; auto: on processors of AMD"};
// Short pieces of ring and bulk go to lines that another core holds: stores of whole lines keep more of them
// under way than the C library's narrower ones (1 KiB .83 us against .92, 4 KiB equal, from 16 KiB on 1.15
// times slower; 2 VCPUs of an Intel Sapphire Rapids).
constexpr std::size_t kLibraryBytesMin = 4096;

constexpr std::size_t kLineBytes = 64;

const Kernels kernels = detect_kernels();

bool is_taking_worth_it() noexcept {
  if (std::strcmp(take_lines.get(), "auto") == 0) return os::stores_slowly_to_owned_lines();
  return std::strcmp(take_lines.get(), "always") == 0;
}

std::size_t last_cache_bytes() noexcept {
  constexpr std::size_t kUnknown = std::size_t{8} << 20;
  for (const int level : {3, 2})
    if (const std::size_t bytes = os::cache_bytes(level)) return bytes;
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
  if (hint == Hint::off_cache)
    kernels.streaming(to, from, bytes);
  else if (bytes < kLibraryBytesMin)
    kernels.lines(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

bool takes_over(std::size_t bytes) noexcept {
  static const std::size_t most = is_taking_worth_it() ? os::cache_bytes(2) / 2 : 0;
  return bytes <= most;
}

void take_over(const std::byte* lines, std::size_t bytes) noexcept {
  const std::byte* const end = lines + bytes;
  for (; lines < end; lines += kLineBytes - reinterpret_cast<std::uintptr_t>(lines) % kLineBytes) {
    volatile std::byte& byte = const_cast<std::byte&>(*lines);
    byte = byte;
  }
}

void load_before_stores(const std::byte* to, std::size_t bytes) noexcept {
  constexpr std::uintptr_t kWindow = 64 << 10;  // the kernel's fault_around_bytes
  const std::byte* const end = to + bytes;
  for (; to < end; to += kWindow - reinterpret_cast<std::uintptr_t>(to) % kWindow)
    asm volatile("" : : "r"(*to));
}

}  // namespace dunlin::copy
