// hot path of large messages: a search among eight words; a probe is two readings of the clock and 64 lines.
#include "memory/source_history.hpp"

#include <algorithm>

#include "base/variable.hpp"
#include "memory/copy.hpp"
#include "os/clock.hpp"

namespace dunlin::memory {
namespace {

// Preset: AMD Zen 5, 2 virtual processors.  64 lines and two readings of the clock take 30 ns from the own
// cache, 80 from a near core's, 140 to 220 from memory, 320 and more from a distant core's.
IntVariable slow_lines_ns{"COPY_SLOW_LINES_NS", 120, "ns",
                          "4 KiB that take longer to read from a peer's buffer come from a distant cache "
                          "or from memory; 0: never",
                          0};
IntVariable push_bytes_max{"COPY_PUSH_BYTES_MAX", 4 << 20, "bytes",
                           "largest message that is left to the sender when its lines come slowly; larger "
                           "ones leave the caches by themselves",
                           0};

constexpr std::uint32_t kUsesPerProbe = 4;        // 60 ns each: 15 ns a message
constexpr std::uint32_t kUsesPerSecondLook = 16;  // two looks of half a microsecond

/// Whether lines of the `bytes` at `at` come slowly.
bool is_slow_to_read(const std::byte* at, std::size_t bytes) noexcept {
  // Not the start, which the processor fetches ahead when it lies behind the last message; and in the half
  // that the receiver reads when both sides copy.
  at += bytes / 4;
  const std::int64_t limit = slow_lines_ns.get();
  if (limit == 0 || bytes < 2 * SourceHistory::kProbeBytes) return false;
  std::byte scratch[SourceHistory::kProbeBytes];
  const std::int64_t begin = os::now_ns();
  copy(scratch, at, sizeof scratch);
  // Nobody uses the copy: the compiler must not leave it out.
  asm volatile("" : : "r"(scratch) : "memory");
  return os::now_ns() - begin > limit;
}

}  // namespace

SourceHistory::Buffer& SourceHistory::find(std::uint64_t address) noexcept {
  auto* const end = buffers_ + kBuffers;
  auto* found = std::find_if(buffers_, end, [&](const Buffer& each) { return each.address == address; });
  if (found == end) *--found = Buffer{address, 0, 0};
  std::rotate(buffers_, found, found + 1);
  return buffers_[0];
}

ShareWay SourceHistory::choose(std::uint64_t address, std::size_t bytes, const std::byte* at) noexcept {
  Buffer& buffer = find(address);
  const bool is_known = buffer.uses++ > 0;
  if (hint_for(bytes) == CopyHint::off_cache) return ShareWay::streaming;
  if (is_known)
    return buffer.is_slow() && bytes <= std::size_t(push_bytes_max.get()) ? ShareWay::sender : ShareWay::both;
  return is_slow_to_read(at, bytes) ? ShareWay::streaming : ShareWay::both;
}

void SourceHistory::learn(std::uint64_t address, std::size_t bytes, const std::byte* at) noexcept {
  Buffer& buffer = find(address);
  if (buffer.is_slow()) {
    // Data that is not written anew any more is known by lines that stayed from one look to the next.  Looks
    // are rare, because they cost what they are to find: the sender gets its lines back slowly.
    const std::uint32_t turn = buffer.uses % kUsesPerSecondLook;
    if (turn > 1) return;
    const bool is_slow = is_slow_to_read(at, bytes);
    if (turn == 1 && !is_slow) buffer.slow_looks = 0;
  } else if (buffer.uses % kUsesPerProbe == 2 || buffer.slow_looks > 0) {
    // Not the first time: a new buffer's lines say nothing yet.
    buffer.slow_looks = is_slow_to_read(at, bytes) ? buffer.slow_looks + 1 : 0;
  }
}

}  // namespace dunlin::memory
