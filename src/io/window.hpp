// A part of the file in memory that the ranks of a node share, with a bit for each byte that says whether
// somebody has written it.
//
// Used by io/together.cpp.  Thread safety: several ranks may write different bytes and mark them at once; who
// looks at them has waited for the others.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace dunlin::io {

class Window {
 public:
  static constexpr std::int64_t kUnit = 64;  // bytes of the file are a multiple

  /// What reading it came to.
  struct Head {
    std::int64_t there = 0;   // bytes from its beginning that the file has
    std::int64_t reason = 0;  // errno
  };

  /// Of memory for so many bytes of the file.
  static std::size_t memory_bytes(std::int64_t bytes) noexcept {
    return std::size_t(kUnit + bytes + bytes / 8);
  }
  Window(std::byte* at, std::int64_t bytes) noexcept : at_(at), bytes_(bytes) {}

  Head& head() const noexcept { return *reinterpret_cast<Head*>(at_); }
  std::byte* data() const noexcept { return at_ + kUnit; }
  std::uint64_t* bits() const noexcept { return reinterpret_cast<std::uint64_t*>(data() + bytes_); }

  /// Bytes [from, to) have been written.  Other ranks may own other bits of the same words.
  void mark(std::int64_t from, std::int64_t to) const noexcept {
    while (from < to) {
      const std::int64_t word = from / 64, end = std::min(to, (word + 1) * 64);
      const std::uint64_t ones =
          end - from == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (end - from)) - 1;
      const std::atomic_ref<std::uint64_t> bits(this->bits()[word]);
      // Relaxed: the barrier orders it before the look at all bits.
      if (~ones == 0)
        bits.store(ones, std::memory_order_relaxed);
      else
        bits.fetch_or(ones << (from % 64), std::memory_order_relaxed);
      from = end;
    }
  }

  /// Calls `use(from, to)` for each run of written bytes below `end`, as long as it answers true.
  template <class Use>
  static void for_each_run(const std::uint64_t* bits, std::int64_t end, const Use& use) noexcept {
    for (std::int64_t from = find(bits, true, 0, end); from < end;) {
      const std::int64_t to = find(bits, false, from, end);
      if (!use(from, to)) return;
      from = find(bits, true, to, end);
    }
  }

 private:
  /// The first byte from `from` on that is written, or is not; `end` where there is none.
  static std::int64_t find(const std::uint64_t* bits, bool is_written, std::int64_t from,
                           std::int64_t end) noexcept {
    while (from < end) {
      const std::uint64_t word = is_written ? bits[from / 64] : ~bits[from / 64];
      const std::uint64_t rest = word >> (from % 64);
      if (rest != 0) return std::min(from + std::countr_zero(rest), end);
      from = (from / 64 + 1) * 64;
    }
    return end;
  }

  std::byte* at_;
  std::int64_t bytes_;  // of the file
};

}  // namespace dunlin::io
