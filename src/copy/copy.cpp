// hot path: one load of the kernel table and two compares before a copy.
#include "copy/copy.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/little_behind.hpp"
#include "base/variable.hpp"
#include "copy/kernels.hpp"
#include "os/cpu.hpp"

namespace dunlin::copy {
namespace {

IntVariable stream_bytes{
    "COPY_STREAM_BYTES_MIN", 0, "bytes",
    "transfers of this size and more bypass the cache; 0: three quarters of the last cache", 0};
WordVariable take_lines{
    "TAKE_LINES", "auto", "auto|readers|writers|never",
    "who makes lines that were read fast to write again: their readers, by a store to each, or who "
    "writes them, while it waits; auto: readers on processors of AMD, writers on others"};
// Short pieces of ring and bulk go to lines that another core holds: stores of whole lines keep more of them
// under way than the C library's narrower ones (1 KiB .83 us against .92, 4 KiB equal, from 16 KiB on 1.15
// times slower; 2 VCPUs of an Intel Sapphire Rapids).
constexpr std::size_t kLibraryBytesMin = 4096;

constexpr std::size_t kLineBytes = 64;

const Kernels kernels = detect_kernels();

/// Of a transfer whose lines `who` takes: source and target fit a cache of `cache_bytes`.
std::size_t taken_bytes_max(const char* who, std::size_t cache_bytes) noexcept {
  const char* const wanted = take_lines.get();
  const char* const best = os::stores_slowly_to_owned_lines() ? "readers" : "writers";
  const bool is_wanted = std::strcmp(std::strcmp(wanted, "auto") == 0 ? best : wanted, who) == 0;
  return is_wanted ? cache_bytes / 2 : 0;
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
    copy_block(to, from, bytes);
}

bool takes_over(std::size_t bytes, bool is_far) noexcept {
  static const std::size_t most = taken_bytes_max("readers", os::cache_bytes(2));
  static const std::size_t most_far = taken_bytes_max("readers", last_cache_bytes());
  return bytes <= (is_far ? most_far : most);
}

// Aligned: where the jump of its loop happened to cross a line of code, collectives of 64 and 256 KiB took
// 1.05 to 1.17 times as long (AMD Zen 3).
[[gnu::aligned(64)]] void take_over(const std::byte* lines, std::size_t bytes) noexcept {
  const std::byte* const end = lines + bytes;
  for (; lines < end; lines += kLineBytes - reinterpret_cast<std::uintptr_t>(lines) % kLineBytes) {
    volatile std::byte& byte = const_cast<std::byte&>(*lines);
    byte = byte;
  }
}

LinesToTakeBack::LinesToTakeBack(std::span<const std::byte> lines) noexcept {
  static const std::size_t most = taken_bytes_max("writers", os::cache_bytes(2));
  if (lines.size() <= most) left_ = lines;
}

void LinesToTakeBack::take_some() noexcept {
  constexpr int kLines = 4;  // so many delay a message that comes meanwhile
  for (int i = 0; i < kLines && !is_empty(); ++i) {
    os::prepare_to_write(left_.data());
    left_ = left_.subspan(std::min(kLineBytes, left_.size()));
  }
}

void load_before_stores(const std::byte* to, std::size_t bytes) noexcept {
  constexpr std::uintptr_t kWindow = 64 << 10;  // the kernel's fault_around_bytes
  const std::byte* const end = to + bytes;
  for (; to < end; to += kWindow - reinterpret_cast<std::uintptr_t>(to) % kWindow)
    asm volatile("" : : "r"(*to));
}

}  // namespace dunlin::copy
