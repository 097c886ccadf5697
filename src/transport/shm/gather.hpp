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

class Gather {
 public:
  Gather(std::span<const std::byte> head, const Source& data) noexcept : head_(head), data_(data) {}

  /// Copies the next `bytes` bytes to `to`; no more than there are.
  void take(std::byte* to, std::size_t bytes, copy::Hint hint = copy::Hint::cached) noexcept {
    if (!head_.empty()) {
      const std::size_t part = std::min(bytes, head_.size());
      std::memcpy(to, head_.data(), part);
      head_ = head_.subspan(part);
      to += part;
      bytes -= part;
    }
    if (bytes == 0) return;
    if (data_.is_contiguous()) {
      copy::bytes(to, data_.address + position_, bytes, hint);
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
