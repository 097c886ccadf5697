// Copies of the sizes that a line of the ring holds, without a call.
// hot path: 8 to 16 bytes take four instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dunlin {

namespace detail {
/// Two accesses of T that may overlap: any size from sizeof(T) to 2 * sizeof(T).
template <class T>
[[gnu::always_inline]] inline void copy_ends(std::byte* to, const std::byte* from,
                                             std::size_t bytes) noexcept {
  T low, high;
  std::memcpy(&low, from, sizeof(T));
  std::memcpy(&high, from + bytes - sizeof(T), sizeof(T));
  std::memcpy(to, &low, sizeof(T));
  std::memcpy(to + bytes - sizeof(T), &high, sizeof(T));
}
struct Half {
  std::uint64_t words[2];
};
}  // namespace detail

/// Copies 0 to 64 bytes that do not overlap.
[[gnu::always_inline]] inline void copy_short(std::byte* to, const std::byte* from,
                                              std::size_t bytes) noexcept {
  if (bytes >= 8) [[likely]] {
    if (bytes <= 16) [[likely]]
      return detail::copy_ends<std::uint64_t>(to, from, bytes);
    if (bytes <= 32) return detail::copy_ends<detail::Half>(to, from, bytes);
    std::memcpy(to, from, 32);
    std::memcpy(to + bytes - 32, from + bytes - 32, 32);
    return;
  }
  if (bytes >= 4) return detail::copy_ends<std::uint32_t>(to, from, bytes);
  if (bytes == 0) return;
  to[0] = from[0];
  to[bytes / 2] = from[bytes / 2];
  to[bytes - 1] = from[bytes - 1];
}

}  // namespace dunlin
