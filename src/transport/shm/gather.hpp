// Head and data of a send as one run of bytes, taken piece by piece into lines, cells or bulk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "copy/copy.hpp"
#include "datatype/cursor.hpp"
#include "datatype/data.hpp"

namespace dunlin::transport::shm {

// Which instructions copy into and out of the bulk ring: our own loops of whole lines, or the C library's,
// which are the processor's string instructions from 2 KiB on.  Half round trips in us, AMD Zen 5, CPUs near
// or far (docs/shm.md, "Measured").

/// The writer's stores take lines away from the reader's cache.  String instructions claim many at a time:
/// 4 KiB .16 against .21 with our loop, far .79 against 1.16; up to 1 KiB our loop wins (.098 against .109,
/// .41 against .51).
inline void copy_to_bulk(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  constexpr std::size_t kOwnBytesMax = 1 << 10;
  if (bytes <= kOwnBytesMax)
    copy::bytes(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

/// The reader's loads fetch lines that the writer holds; a plain loop keeps more of them under way: 4 KiB
/// .226 against .244 and far .75 against .79, 8 KiB .271 against .285; 16 KiB .414 against .429, but far
/// 1.43 against 1.28.
inline void copy_from_bulk(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  constexpr std::size_t kOwnBytesMax = 8 << 10;
  if (bytes <= kOwnBytesMax)
    copy::bytes(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

class Gather {
 public:
  Gather(std::span<const std::byte> head, const Source& data) noexcept : head_(head), data_(data) {}

  /// Copies the next `bytes` bytes to `to`; no more than there are.
  void take(std::byte* to, std::size_t bytes) noexcept {
    if (!head_.empty()) {
      const std::size_t part = std::min(bytes, head_.size());
      std::memcpy(to, head_.data(), part);
      head_ = head_.subspan(part);
      to += part;
      bytes -= part;
    }
    if (bytes == 0) return;
    if (data_.is_contiguous()) {
      copy_to_bulk(to, data_.address + position_, bytes);
    } else {
      Cursor cursor(data_);
      cursor.seek(data_.position + position_);
      cursor.pack(to, bytes);
    }
    position_ += bytes;
  }

 private:
  std::span<const std::byte> head_;
  const Source& data_;
  std::size_t position_ = 0;  // in data_
};

}  // namespace dunlin::transport::shm
