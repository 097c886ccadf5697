// A type's size, bounds, layout and signature while it is being made (MPI 5.0, 5.1.6 "Lower-Bound and
// Upper-Bound").
//
// The constructors (datatype/constructors.cpp) combine shapes of old types into the shape of the new one;
// every function here checks that sizes and bounds stay within 64 bits before anything is built.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/err.hpp"
#include "datatype/datatype.hpp"
#include "datatype/layout.hpp"
#include "datatype/signature.hpp"

namespace dunlin::datatype {

struct Shape {
  std::int64_t size = 0;              // bytes of data
  std::int64_t lower_bound = 0;       // bytes
  std::int64_t upper_bound = 0;       // bytes
  std::int64_t true_lower_bound = 0;  // bytes
  std::int64_t true_upper_bound = 0;  // bytes
  std::int64_t alignment = 1;         // bytes, the largest among the elements
  bool has_explicit_bounds = false;   // made by resized: these bounds win over those of other members
  bool is_empty = true;               // no elements and no explicit bounds: ignored by whatever contains it
  LayoutRef layout;
  SignatureRef signature;

  std::int64_t extent() const noexcept { return upper_bound - lower_bound; }
};

/// `count` times `shape`, `offset` bytes from the start.
struct Placed {
  std::int64_t offset;
  Shape shape;
};

Shape empty_shape() noexcept;
Shape shape_of(const Datatype& type) noexcept;

/// Copies in nested loops, the innermost first, `stride` bytes apart (the new bounds are rounded to the
/// alignment by `finish_shape`).
Err repeat_shape(const Shape& shape, std::span<const Dimension> loops, Shape* result) noexcept;
inline Err repeat_shape(const Shape& shape, std::int64_t count, std::int64_t stride, Shape* result) noexcept {
  const Dimension loop{count, stride};
  return repeat_shape(shape, {&loop, 1}, result);
}
/// Shapes one behind the other in packed order.
Err place_shapes(const std::vector<Placed>& members, Shape* result) noexcept;
/// The same further on.
Err shift_shape(const Shape& shape, std::int64_t offset, Shape* result) noexcept;
/// Sets explicit bounds.
Err resize_shape(const Shape& shape, std::int64_t lower_bound, std::int64_t extent, Shape* result) noexcept;
/// Blocks of a contiguous old type: count[i] elements at byte offset[i]; for long lists.
Err place_blocks(const Shape& element, std::vector<Block> blocks, Shape* result) noexcept;
/// Rounds the extent up to the alignment, unless the bounds are explicit; the last step of every constructor.
Err finish_shape(Shape* shape) noexcept;

}  // namespace dunlin::datatype
