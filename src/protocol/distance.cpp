#include "protocol/distance.hpp"

#include <algorithm>
#include <cstring>

#include "base/variable.hpp"
#include "os/cpu.hpp"

namespace dunlin::protocol {
namespace {

WordVariable distance{
    "DISTANCE", "auto", "auto|near|far",
    "whether the ranks of a node share caches (near) or not; auto: measured between each two"};

using Times = std::uint64_t[Distance::kLines];

/// Of one load of each line, in an order that no prefetcher expects.
void time_loads(const std::byte* lines, Times& times) noexcept {
  static_assert(Distance::kLines == 8);
  std::size_t place = 0;
  for (std::uint64_t& time : times) {
    place = (place + 5) % Distance::kLines;
    const std::uint64_t start = os::cycles();
    asm volatile(
        ""
        :
        : "r"(*reinterpret_cast<const volatile std::uint64_t*>(lines + place * Distance::kLineBytes)));
    time = os::cycles() - start;
  }
}

std::uint64_t median(Times& times) noexcept {
  std::nth_element(times, times + Distance::kLines / 2, times + Distance::kLines);
  return times[Distance::kLines / 2];
}

}  // namespace

void Distance::look(const std::byte* lines) noexcept {
  if (std::strcmp(distance.get(), "auto") != 0) {
    is_far_ = std::strcmp(distance.get(), "far") == 0;
    return;
  }
  Times of_peer, of_memory;
  time_loads(lines, of_peer);
  alignas(kLineBytes) std::byte own[kLines * kLineBytes];
  write_lines(own);
  for (std::size_t i = 0; i < kLines; ++i) os::flush_line(own + i * kLineBytes);
  time_loads(own, of_memory);
  is_far_ = median(of_peer) > median(of_memory);
}

void Distance::write_lines(std::byte* lines) noexcept {
  for (std::size_t i = 0; i < kLines; ++i) {
    auto& word = *reinterpret_cast<volatile std::uint64_t*>(lines + i * kLineBytes);
    word = word + 1;
  }
}

}  // namespace dunlin::protocol
