// Combining shapes (shape.hpp).  All sums are formed in 128 bits first, so that a program's huge counts give
// an error.
#include "datatype/shape.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace dunlin::datatype {

namespace {

using Wide = __int128;

/// Bounds while they are collected; wide so that nothing overflows before `store` has looked.
struct Bounds {
  Wide lower = 0, upper = 0;
  bool is_set = false;

  void include(Wide from, Wide to) noexcept {
    lower = is_set ? std::min(lower, from) : from;
    upper = is_set ? std::max(upper, to) : to;
    is_set = true;
  }
};

// A quarter of the range: sums and differences of two such values still fit.
constexpr Wide kBytesMax = Wide{1} << 62;

bool is_in_range(Wide value) noexcept { return value > -kBytesMax && value < kBytesMax; }
bool is_in_range(std::int64_t value) noexcept { return value > -kBytesMax && value < kBytesMax; }

Err out_of_range() noexcept {
  return fail(Err::value_too_large, "the datatype would span more than 2^62 bytes");
}

/// Takes members in and gives sizes and bounds out.  Explicit bounds win over others.  A member's padding
/// counts, as in the other MPIs (programs lay fields of a member's extent next to each other); the standard's
/// flat type map would pad only once, at the end.
struct Collector {
  Wide size = 0;
  Bounds natural, explicit_bounds, true_bounds;
  std::int64_t alignment = 1;

  void include(const Shape& shape, std::int64_t offset) noexcept { include(shape, offset, 1, 0); }
  void include(const Shape& shape, std::int64_t offset, std::int64_t count, std::int64_t stride) noexcept {
    if (shape.is_empty || count == 0) return;
    const Wide last = Wide{count - 1} * stride;
    const Wide low = offset + std::min(Wide{0}, last), high = offset + std::max(Wide{0}, last);
    Bounds& bounds = shape.has_explicit_bounds ? explicit_bounds : natural;
    bounds.include(low + shape.lower_bound, high + shape.upper_bound);
    if (shape.size > 0) true_bounds.include(low + shape.true_lower_bound, high + shape.true_upper_bound);
    size += Wide{count} * shape.size;
    alignment = std::max(alignment, shape.alignment);
  }

  Err store(Shape* shape) const noexcept {
    const Bounds& bounds = explicit_bounds.is_set ? explicit_bounds : natural;
    if (!is_in_range(size) || !is_in_range(bounds.lower) || !is_in_range(bounds.upper) ||
        !is_in_range(true_bounds.lower) || !is_in_range(true_bounds.upper))
      return out_of_range();
    shape->size = static_cast<std::int64_t>(size);
    shape->lower_bound = static_cast<std::int64_t>(bounds.lower);
    shape->upper_bound = static_cast<std::int64_t>(bounds.upper);
    shape->true_lower_bound = static_cast<std::int64_t>(true_bounds.lower);
    shape->true_upper_bound = static_cast<std::int64_t>(true_bounds.upper);
    shape->alignment = alignment;
    shape->has_explicit_bounds = explicit_bounds.is_set;
    shape->is_empty = !bounds.is_set;
    return Err::ok;
  }
};

}  // namespace

Shape empty_shape() noexcept {
  Shape shape;
  shape.layout = make_run(0, 0);
  shape.signature = make_signature(nullptr, 0);
  return shape;
}

Shape shape_of(const Datatype& type) noexcept {
  Shape shape;
  shape.size = type.size();
  shape.lower_bound = type.lower_bound();
  shape.upper_bound = type.upper_bound();
  shape.true_lower_bound = type.true_lower_bound();
  shape.true_upper_bound = type.true_lower_bound() + type.true_extent();
  shape.alignment = type.alignment();
  shape.has_explicit_bounds = type.has_explicit_bounds();
  shape.is_empty = type.is_empty();
  shape.layout = LayoutRef(&type.layout());
  shape.signature = SignatureRef(&type.signature());
  return shape;
}

namespace {

/// Size and bounds of the copies of one loop.
Err repeat_bounds(const Dimension& loop, Shape* shape) noexcept {
  if (loop.count == 1 || shape->is_empty) return Err::ok;
  if (loop.count == 0) {
    *shape = {};
    return Err::ok;
  }
  std::int64_t last;  // bytes from the first copy to the last
  if (__builtin_mul_overflow(loop.count - 1, loop.stride, &last) || !is_in_range(last) ||
      __builtin_mul_overflow(loop.count, shape->size, &shape->size) || !is_in_range(shape->size))
    return out_of_range();
  // All terms are within 2^62 of zero, so that the sums fit into 64 bits.
  const std::int64_t below = std::min<std::int64_t>(last, 0), above = std::max<std::int64_t>(last, 0);
  shape->lower_bound += below;
  shape->upper_bound += above;
  if (!is_in_range(shape->lower_bound) || !is_in_range(shape->upper_bound)) return out_of_range();
  if (shape->size == 0) return Err::ok;
  shape->true_lower_bound += below;
  shape->true_upper_bound += above;
  return is_in_range(shape->true_lower_bound) && is_in_range(shape->true_upper_bound) ? Err::ok
                                                                                     : out_of_range();
}

}  // namespace

Err repeat_shape(const Shape& shape, std::span<const Dimension> loops, Shape* result) noexcept {
  Shape made = shape;
  for (const Dimension& loop : loops) {
    DUNLIN_ASSERT(loop.count >= 0);
    if (Err e = repeat_bounds(loop, &made); e != Err::ok) return e;
  }
  made.layout = make_repeat(shape.layout, loops);
  made.signature = repeat_signature(shape.signature, shape.size > 0 ? made.size / shape.size : 0);
  *result = std::move(made);
  return Err::ok;
}

Err place_shapes(const std::vector<Placed>& members, Shape* result) noexcept {
  Collector collector;
  for (const Placed& member : members) collector.include(member.shape, member.offset);
  Shape made;
  if (Err e = collector.store(&made); e != Err::ok) return e;
  std::vector<Part> parts;
  PoolVector<SignatureEntry> entries;
  parts.reserve(members.size());
  entries.reserve(members.size());
  for (const Placed& member : members) {
    if (member.shape.size == 0) continue;
    parts.push_back({member.offset, 0, member.shape.layout});
    entries.push_back({nullptr, 1, member.shape.signature});
  }
  made.layout = make_sequence(std::move(parts));
  made.signature = sequence_signature(std::move(entries));
  *result = std::move(made);
  return Err::ok;
}

Err shift_shape(const Shape& shape, std::int64_t offset, Shape* result) noexcept {
  return place_shapes({{offset, shape}}, result);
}

Err resize_shape(const Shape& shape, std::int64_t lower_bound, std::int64_t extent, Shape* result) noexcept {
  if (!is_in_range(lower_bound) || !is_in_range(extent) || !is_in_range(Wide{lower_bound} + extent))
    return out_of_range();
  Shape made = shape;
  made.lower_bound = lower_bound;
  made.upper_bound = lower_bound + extent;
  made.has_explicit_bounds = true;
  made.is_empty = false;
  *result = std::move(made);
  return Err::ok;
}

Err place_blocks(const Shape& element, std::vector<Block> blocks, Shape* result) noexcept {
  DUNLIN_ASSERT(element.size > 0);
  Collector collector;
  Wide count = 0;
  for (const Block& block : blocks) {
    collector.include(element, block.offset, block.bytes / element.size, element.size);
    count += block.bytes / element.size;
  }
  Shape made;
  if (Err e = collector.store(&made); e != Err::ok) return e;
  made.layout = make_blocks(std::move(blocks));
  made.signature = repeat_signature(element.signature, static_cast<std::int64_t>(count));
  *result = std::move(made);
  return Err::ok;
}

Err finish_shape(Shape* shape) noexcept {
  if (shape->has_explicit_bounds) return Err::ok;
  DUNLIN_ASSERT(shape->lower_bound <= shape->upper_bound);
  // Both bounds are within 2^62 bytes of zero, so that the extent and the alignment fit into 64 bits.
  const auto extent = static_cast<std::uint64_t>(shape->upper_bound - shape->lower_bound);
  const auto alignment = static_cast<std::uint64_t>(shape->alignment);
  const std::uint64_t rounded = (extent + alignment - 1) / alignment * alignment;
  if (!is_in_range(shape->lower_bound + Wide{rounded})) return out_of_range();
  shape->upper_bound = shape->lower_bound + static_cast<std::int64_t>(rounded);
  return Err::ok;
}

}  // namespace dunlin::datatype
