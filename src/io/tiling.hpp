// Where the data of a view lies in its file: a filetype laid out again and again from a displacement on.
//
// A layout in a file is a layout in memory whose first byte has the address 0, so the datatype engine does
// all of it: a Cursor lists runs, `copy_between` moves bytes between a piece of the file that lies in memory
// and the program's buffer.  A *position* is a number of data bytes from the beginning of the view, gaps left
// out; an *offset* is a byte of the file.
//
// Thread safety: reads only; the owner keeps the type alive (io/worker.hpp uses it without the lock).
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/cursor.hpp"
#include "datatype/datatype.hpp"

namespace dunlin::io {

class Tiling {
 public:
  Tiling() = default;
  /// `overlaps`: runs of one `type` do, which is allowed where the file is only read.
  Tiling(std::int64_t displacement, const Datatype& type, bool overlaps = false) noexcept;

  const Datatype& type() const noexcept { return *type_; }
  /// One run of bytes without end.
  bool is_contiguous() const noexcept { return type_->is_contiguous(); }
  /// Offsets grow with positions.
  bool is_monotonic() const noexcept { return is_monotonic_; }
  /// So many positions have an offset below 2^63; the functions below take no others.
  std::int64_t bytes() const noexcept { return count_ * type_->size(); }
  /// No data at all.
  bool is_empty() const noexcept { return type_->size() == 0; }

  /// Runs from `position` on; the address of a piece is its offset.
  Cursor runs(std::int64_t position) const noexcept;
  std::int64_t offset_of(std::int64_t position) const noexcept {
    return is_contiguous() ? displacement_ + position : offset_in_runs(position);
  }
  /// Where the last of `bytes` bytes from `position` on ends; `offset_of(position)` where there are none.
  std::int64_t end_of(std::int64_t position, std::int64_t bytes) const noexcept {
    return bytes > 0 ? offset_of(position + bytes - 1) + 1 : offset_of(position);
  }
  /// The first position at this offset or behind it; where offsets do not grow, only about.
  std::int64_t position_at(std::int64_t offset) const noexcept;

  /// The data as it lies in memory that holds a part of the file: `at` is where offset 0 would be.
  Source source(std::byte* at) const noexcept;
  Target target(std::byte* at) const noexcept;

 private:
  std::int64_t offset_in_runs(std::int64_t position) const noexcept;

  std::int64_t displacement_ = 0;
  const Datatype* type_ = nullptr;
  std::int64_t count_ = 0;  // elements of `type_`, as many as offsets can name
  bool is_monotonic_ = true;
};

}  // namespace dunlin::io
