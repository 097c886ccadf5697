// hot path of large messages: a search among eight words; a look is two readings of the clock and 32 lines.
#include "protocol/source_history.hpp"

#include <algorithm>

#include "base/variable.hpp"
#include "copy/copy.hpp"
#include "os/clock.hpp"

namespace dunlin::protocol {
namespace {

// Presets: AMD Zen 5, 2 virtual processors.  A look takes 20 to 50 ns where the lines are in the own cache,
// 60 to 140 in a near core's or the shared one, 160 and more (in 64 KiB; 450 in 1 MiB) in memory, 280 and
// more in a distant core's.
IntVariable near_lines_ns{
    "COPY_NEAR_LINES_NS", 55, "ns",
    "32 lines of a peer's buffer that take longer to read do not come from the own cache; "
    "0: never",
    0};
IntVariable slow_lines_ns{"COPY_SLOW_LINES_NS", 150, "ns",
                          "32 lines of a peer's buffer that take longer to read come from a distant cache or "
                          "from memory; 0: never",
                          0};
IntVariable push_near_bytes_max{
    "COPY_PUSH_NEAR_BYTES_MAX", 256 << 10, "bytes",
    "largest message that a near sender copies alone, where it writes the data anew", 0};
IntVariable push_bytes_max{
    "COPY_PUSH_BYTES_MAX", 8 << 20, "bytes",
    "largest message that a distant sender puts through the channel, where it writes the "
    "data anew; larger ones leave the caches by themselves",
    0};

constexpr std::size_t kLines = 32;
constexpr std::uint32_t kUsesPerProbe = 4;        // 60 ns each: 15 ns a message
constexpr std::uint32_t kUsesPerSecondLook = 16;  // two looks of half a microsecond

/// What a look looks at: the half that the receiver reads when both sides copy.
std::size_t look_span(std::size_t bytes) noexcept {
  return bytes < copy::shared_bytes_min() ? bytes : bytes / 2;
}

/// Where lines of the `bytes` at `at` come from.
Origin look_at(const std::byte* at, std::size_t bytes) noexcept {
  if (bytes < SourceHistory::kLookBytesMin) return Origin::own;
  const std::int64_t took = SourceHistory::time_look_ns(at, bytes);
  const auto is_above = [took](const IntVariable& limit) { return limit.get() != 0 && took > limit.get(); };
  return is_above(slow_lines_ns) ? Origin::far : is_above(near_lines_ns) ? Origin::near : Origin::own;
}

/// Whether the lines of a buffer that is met for the first time come from memory, or from a cache so distant
/// that it is the same.  In 1 to 4 MiB, 32 lines take 500 ns and more from memory, but up to 340 from the
/// shared cache, which is not worth avoiding: 4 MiB of it copied around the caches take 120 us, and 60
/// through them.  Larger buffers leave the caches by themselves.
bool is_in_no_cache(const std::byte* at, std::size_t bytes) noexcept {
  const bool is_wide = bytes >= std::size_t{1} << 20 && bytes < std::size_t{8} << 20;
  const std::int64_t limit = is_wide ? slow_lines_ns.get() * 5 / 2 : slow_lines_ns.get();
  return limit != 0 && bytes >= SourceHistory::kLookBytesMin &&
         SourceHistory::time_look_ns(at, bytes) > limit;
}

/// Page faults of a new mapping are not to be taken for slow lines.  Those of the other half may never come:
/// a sender that copies it meanwhile needs none (small pages, 3 us each 64 KiB).  Touched in the other half
/// of a page, because the processor fetches what lies beside: 4 MiB in memory looked like 150 ns, and not
/// 520.
void touch_pages(const std::byte* at, std::size_t bytes) noexcept {
  constexpr std::size_t kStep = 64 << 10, kBesideLooks = 2112;
  for (std::size_t i = kBesideLooks; i < look_span(bytes); i += kStep) asm volatile("" : : "r"(at[i]));
}

}  // namespace

std::int64_t SourceHistory::time_look_ns(const std::byte* at, std::size_t bytes) noexcept {
  // Far apart, so that nothing fetches them ahead.
  const std::size_t step = look_span(bytes) / kLines / 64 * 64;
  const std::int64_t begin = os::now_ns();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kLines; ++i) sum += std::uint64_t(at[i * step]);
  // Nobody uses the sum: the compiler must not leave it out.
  asm volatile("" : : "r"(sum) : "memory");
  return os::now_ns() - begin;
}

SourceHistory::Buffer& SourceHistory::find(std::uint64_t address) noexcept {
  auto* const end = buffers_ + kBuffers;
  auto* found = std::find_if(buffers_, end, [&](const Buffer& each) { return each.address == address; });
  if (found == end) *--found = Buffer{.address = address};
  std::rotate(buffers_, found, found + 1);
  return buffers_[0];
}

ShareWay SourceHistory::choose(std::uint64_t address, std::size_t bytes, const std::byte* at,
                               bool is_asked) noexcept {
  Buffer& buffer = find(address);
  if (copy::hint_for(bytes) == copy::Hint::off_cache) return ShareWay::streaming;
  if (buffer.uses == 0) {
    touch_pages(at, bytes);
    return is_in_no_cache(at, bytes) ? ShareWay::streaming : ShareWay::both;
  }
  if (!buffer.is_fresh() || is_asked) return ShareWay::both;
  const bool is_far = buffer.origin == Origin::far;
  if (std::int64_t(bytes) > (is_far ? push_bytes_max : push_near_bytes_max).get()) return ShareWay::both;
  return is_far ? ShareWay::channel : ShareWay::sender;
}

void SourceHistory::learn(std::uint64_t address, std::size_t bytes, const std::byte* at,
                          bool is_asked) noexcept {
  Buffer& buffer = find(address);
  ++buffer.uses;
  if (!buffer.is_fresh()) {
    // Not the first time: a new buffer's lines say nothing yet.
    if (buffer.uses % kUsesPerProbe != 2 && buffer.slow_looks == 0) return;
    buffer.origin = look_at(at, bytes);
    buffer.slow_looks = buffer.origin == Origin::own ? 0 : buffer.slow_looks + 1;
    return;
  }
  // Data that is not written anew any more is known by lines that stayed from one look to the next.  Looks
  // are rare, because they cost what they are to find: the sender gets its lines back slowly.
  if (!buffer.has_lines && !is_asked && buffer.uses % kUsesPerSecondLook != 0) return;
  const Origin origin = look_at(at, bytes);
  if (buffer.has_lines) {
    buffer.origin = origin;
    if (origin == Origin::own) buffer.slow_looks = 0;
  }
  buffer.has_lines = !buffer.has_lines;
}

}  // namespace dunlin::protocol
