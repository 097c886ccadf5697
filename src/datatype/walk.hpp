// Walking over a range of packed bytes of (layout, count, extent) and telling a visitor what lies there.
//
// hot path: the whole type is one call of a visitor where the normal form allows.  A visitor has five
// members, all of which return whether to go on; offsets are bytes from the program's buffer:
//
//   bool run(offset, bytes)                     one run, perhaps part of a block
//   bool grid(offset, block, columns, rows)     rows of whole blocks
//   bool indexed(offset, offsets, n, block)     whole blocks at offset + offsets[i]
//   bool blocks(offset, blocks, n)              whole blocks at offset + blocks[i].offset
//   bool records(offset, n, stride, layout)     n times all blocks of a short list (layout.is_record())
//
// Visited in packed order.  Used by datatype/cursor.cpp.  Recursion is bounded by Layout::depth (layout.cpp).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/assert.hpp"
#include "datatype/layout.hpp"

namespace dunlin::datatype {

/// Packed bytes [from, to) of one element.
struct Range {
  std::int64_t from, to;
  std::int64_t bytes() const noexcept { return to - from; }
};

template <class Visitor>
class Walk {
 public:
  explicit Walk(Visitor& visitor) noexcept : visitor_(visitor) {}

  /// `count` elements `extent` bytes apart; false when the visitor stopped.
  bool elements(const Layout& layout, std::int64_t count, std::int64_t extent, Range range) noexcept {
    DUNLIN_ASSERT(range.from >= 0 && range.from <= range.to);
    if (range.from == range.to) return true;
    DUNLIN_ASSERT(count > 0);
    if (layout.form == Layout::Form::strided) {
      Strided all = layout.strided;
      if (all.try_repeat(count, extent)) return strided(all, 0, range);
    }
    return repeat(layout, 0, extent, range);
  }

 private:
  bool one(const Layout& layout, std::int64_t at, Range range) noexcept {
    switch (layout.form) {
      case Layout::Form::strided: return strided(layout.strided, at, range);
      case Layout::Form::indexed: return indexed(layout, at, range);
      case Layout::Form::blocks: return blocks(layout, at, range);
      case Layout::Form::repeat:
        return repeat(*layout.parts[0].layout, at + layout.parts[0].offset, layout.dimension.stride, range);
      case Layout::Form::sequence: return sequence(layout, at, range);
    }
    __builtin_unreachable();
  }

  /// Splits a range of equal units into a part at the front, whole units and a part at the back.
  template <class PartOfUnit, class WholeUnits>
  bool split(std::int64_t unit_bytes, Range range, PartOfUnit part, WholeUnits whole) noexcept {
    std::int64_t first = range.from / unit_bytes;
    const std::int64_t skip = range.from - first * unit_bytes;
    if (skip > 0) {
      const std::int64_t to = std::min(unit_bytes, skip + range.bytes());
      if (!part(first, Range{skip, to})) return false;
      range.from += to - skip;
      ++first;
    }
    const std::int64_t n = range.bytes() / unit_bytes, rest = range.bytes() - n * unit_bytes;
    if (n > 0 && !whole(first, n)) return false;
    return rest == 0 || part(first + n, Range{0, rest});
  }

  bool strided(const Strided& s, std::int64_t at, Range range) noexcept {
    at += s.offset;
    if (s.dimensions == 0) return visitor_.run(at + range.from, range.bytes());
    const Dimension* d = s.dimension;
    if (range.bytes() == s.bytes && s.dimensions <= 2) return visitor_.grid(at, s.block, d[0], d[1]);
    return split(
        s.block, range,
        [&](std::int64_t i, Range part) {
          return visitor_.run(at + offset_of(s, i) + part.from, part.bytes());
        },
        [&](std::int64_t first, std::int64_t n) { return whole_blocks(s, at, first, n); });
  }

  static std::int64_t offset_of(const Strided& s, std::int64_t i) noexcept {
    const Dimension* d = s.dimension;
    if (s.dimensions == 1) return i * d[0].stride;
    const std::int64_t row = i / d[0].count, column = i - row * d[0].count;
    if (s.dimensions == 2) return row * d[1].stride + column * d[0].stride;
    const std::int64_t plane = row / d[1].count;
    return plane * d[2].stride + (row - plane * d[1].count) * d[1].stride + column * d[0].stride;
  }

  /// Blocks [first, first + n) of the grid: part of a row, whole rows (plane by plane), part of a row.
  bool whole_blocks(const Strided& s, std::int64_t at, std::int64_t first, std::int64_t n) noexcept {
    const Dimension* d = s.dimension;
    const auto row_part = [&](std::int64_t row, Range part) {
      const std::int64_t start = at + offset_of(s, row * d[0].count + part.from);
      return visitor_.grid(start, s.block, Dimension{part.bytes(), d[0].stride}, Dimension{1, 0});
    };
    if (s.dimensions == 1) return row_part(0, Range{first, first + n});
    const auto rows_part = [&](std::int64_t plane, Range part) {
      const std::int64_t start = at + offset_of(s, (plane * d[1].count + part.from) * d[0].count);
      return visitor_.grid(start, s.block, d[0], Dimension{part.bytes(), d[1].stride});
    };
    const auto whole_rows = [&](std::int64_t first_row, std::int64_t rows) {
      const Range range{first_row, first_row + rows};
      if (s.dimensions == 2) return rows_part(0, range);
      return split(d[1].count, range, rows_part, [&](std::int64_t first_plane, std::int64_t planes) {
        for (std::int64_t i = 0; i < planes; ++i)
          if (!rows_part(first_plane + i, Range{0, d[1].count})) return false;
        return true;
      });
    };
    return split(d[0].count, Range{first, first + n}, row_part, whole_rows);
  }

  bool indexed(const Layout& layout, std::int64_t at, Range range) noexcept {
    at += layout.strided.offset;
    const std::int64_t block = layout.strided.block;
    const std::int32_t* offsets = layout.offsets.data();
    return split(
        block, range,
        [&](std::int64_t i, Range part) { return visitor_.run(at + offsets[i] + part.from, part.bytes()); },
        [&](std::int64_t first, std::int64_t n) { return visitor_.indexed(at, offsets + first, n, block); });
  }

  bool blocks(const Layout& layout, std::int64_t at, Range range) noexcept {
    const Block* first = layout.blocks.data();
    const Block* end = first + layout.blocks.size();
    if (range.bytes() == layout.bytes) return visitor_.blocks(at, first, end - first);
    const auto before = [](std::int64_t position, const Block& block) { return position < block.position; };
    if (range.from > 0) first = std::upper_bound(first, end, range.from, before) - 1;
    if (const std::int64_t skip = range.from - first->position; skip > 0) {
      const std::int64_t bytes = std::min(first->bytes - skip, range.bytes());
      if (!visitor_.run(at + first->offset + skip, bytes)) return false;
      range.from += bytes;
      ++first;
    }
    if (range.bytes() == 0) return true;
    const Block* last = range.to == layout.bytes ? end : std::upper_bound(first, end, range.to, before) - 1;
    if (last > first && !visitor_.blocks(at, first, last - first)) return false;
    return last == end || range.to == last->position ||
           visitor_.run(at + last->offset, range.to - last->position);
  }

  bool repeat(const Layout& layout, std::int64_t at, std::int64_t stride, Range range) noexcept {
    return split(
        layout.bytes, range,
        [&](std::int64_t i, Range part) { return one(layout, at + i * stride, part); },
        [&](std::int64_t first, std::int64_t n) {
          if (n > 1 && layout.is_record()) return visitor_.records(at + first * stride, n, stride, layout);
          for (std::int64_t i = first; i < first + n; ++i)
            if (!one(layout, at + i * stride, Range{0, layout.bytes})) return false;
          return true;
        });
  }

  bool sequence(const Layout& layout, std::int64_t at, Range range) noexcept {
    const Part* part = layout.parts.data();
    const Part* end = part + layout.parts.size();
    const auto before = [](std::int64_t position, const Part& p) { return position < p.position; };
    if (range.from > 0) part = std::upper_bound(part, end, range.from, before) - 1;
    for (; part != end && part->position < range.to; ++part) {
      const Layout& inner = *part->layout;
      const Range within{std::max(range.from - part->position, std::int64_t{0}),
                         std::min(range.to - part->position, inner.bytes)};
      if (!one(inner, at + part->offset, within)) return false;
    }
    return true;
  }

  Visitor& visitor_;
};

}  // namespace dunlin::datatype
