// Head and data of a send as one run of bytes, taken piece by piece into lines, cells or bulk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "datatype/cursor.hpp"
#include "datatype/data.hpp"
#include "memory/copy.hpp"

namespace dunlin::transport::shm {

/// Into and out of the bulk ring: up to 1 KiB our own kernels win (.098 against .109 us half round trip near,
/// .41 against .51 far), above it the C library's string instructions, whose stores reach a far core sooner
/// (4 KiB .79 against 1.16 far; bench/compare --only latency).
inline void copy_bulk(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  constexpr std::size_t kOwnBytesMax = 1024;
  if (bytes <= kOwnBytesMax)
    memory::copy(to, from, bytes);
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
      copy_bulk(to, data_.address + position_, bytes);
    } else {
      Cursor cursor(data_);
      cursor.seek(position_);
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
