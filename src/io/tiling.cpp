#include "io/tiling.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace dunlin::io {
namespace {

std::byte* at_offset(std::byte* base, std::int64_t offset) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + std::uintptr_t(offset));
}

}  // namespace

Tiling::Tiling(std::int64_t displacement, const Datatype& type, bool overlaps) noexcept
    : displacement_(displacement), type_(&type) {
  const std::int64_t step = std::max({type.extent(), type.size(), type.true_extent(), std::int64_t{1}});
  const std::int64_t room =
      INT64_MAX - displacement - std::min(type.true_lower_bound(), INT64_MAX - displacement);
  count_ = type.size() == 0 ? 0 : room / step;
  is_monotonic_ = !overlaps && type.extent() >= type.true_extent();
}

Cursor Tiling::runs(std::int64_t position) const noexcept {
  Cursor cursor(*type_, count_, at_offset(nullptr, displacement_));
  cursor.seek(std::size_t(position));
  return cursor;
}

std::int64_t Tiling::offset_in_runs(std::int64_t position) const noexcept {
  if (is_empty()) return displacement_;
  Piece first;
  Cursor cursor = runs(position);
  const std::size_t found = cursor.pieces({&first, 1}, 1);
  DUNLIN_ASSERT(found == 1);
  return std::int64_t(reinterpret_cast<std::uintptr_t>(first.address));
}

std::int64_t Tiling::position_at(std::int64_t offset) const noexcept {
  const std::int64_t first = displacement_ + type_->true_lower_bound();  // byte with data
  if (is_empty() || offset <= first) return 0;
  if (is_contiguous()) return offset - first;
  const std::int64_t tile = (offset - first) / std::max(type_->extent(), std::int64_t{1});
  std::int64_t low = std::min(tile, count_) * type_->size();
  std::int64_t high = std::min(tile + 1, count_) * type_->size();
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (offset_of(middle) < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Source Tiling::source(std::byte* at) const noexcept {
  return source_of(*type_, at_offset(at, displacement_), count_);
}

Target Tiling::target(std::byte* at) const noexcept {
  return target_of(*type_, at_offset(at, displacement_), count_);
}

}  // namespace dunlin::io
