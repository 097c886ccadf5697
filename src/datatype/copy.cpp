// Copies straight from one layout to another (cursor.hpp, `copy_range`; copy.hpp), without packing.
//
// Four cases: one side contiguous (then it is a pack or an unpack); both sides of one layout and in step (one
// walk moves both); else both layouts are listed as strips, rows of equal blocks, and the two lists are
// merged.
#include <algorithm>
#include <span>

#include "base/assert.hpp"
#include "datatype/copy.hpp"
#include "datatype/cursor.hpp"
#include "datatype/datatype.hpp"
#include "datatype/move.hpp"
#include "datatype/walk.hpp"

namespace dunlin {

namespace datatype {

namespace {

/// A row of n equal blocks of one side, and how far the merge has come in it.
struct Strip {
  std::byte* address;   // of the current block
  std::int64_t block;   // bytes
  std::int64_t n;       // blocks left, the current one included
  std::int64_t stride;  // bytes
  std::int64_t done;    // bytes of the current block already copied
};

/// Visitor that lists strips until the room is used up.
struct StripList {
  static constexpr std::size_t kStripsMax = 128;
  std::byte* buffer;
  std::size_t used = 0;
  std::int64_t bytes = 0;
  Strip strips[kStripsMax];

  explicit StripList(std::byte* address) noexcept : buffer(address) {}

  bool strip(std::int64_t offset, std::int64_t block, std::int64_t n, std::int64_t stride) noexcept {
    if (used == kStripsMax) return false;
    strips[used++] = {moved(buffer, offset), block, n, stride, 0};
    bytes += block * n;
    return true;
  }
  bool run(std::int64_t offset, std::int64_t bytes) noexcept { return strip(offset, bytes, 1, 0); }
  bool grid(std::int64_t offset, std::int64_t block, Dimension columns, Dimension rows) noexcept {
    for (std::int64_t j = 0; j < rows.count; ++j)
      if (!strip(offset + j * rows.stride, block, columns.count, columns.stride)) return false;
    return true;
  }
  bool indexed(std::int64_t offset, const std::int32_t* offsets, std::int64_t n,
               std::int64_t block) noexcept {
    for (std::int64_t i = 0; i < n; ++i)
      if (!run(offset + offsets[i], block)) return false;
    return true;
  }
  bool blocks(std::int64_t offset, const Block* blocks, std::int64_t n) noexcept {
    for (std::int64_t i = 0; i < n; ++i)
      if (!run(offset + blocks[i].offset, blocks[i].bytes)) return false;
    return true;
  }
  bool records(std::int64_t offset, std::int64_t n, std::int64_t stride, const Layout& layout) noexcept {
    for (std::int64_t i = 0; i < n; ++i, offset += stride) {
      const auto append = [&](const Block& block) { return run(offset + block.offset, block.bytes); };
      if (!layout.visit_record(append)) return false;
    }
    return true;
  }
};

/// Moves a strip forward by `blocks` whole blocks; false when it is used up.
bool advance_blocks(Strip& strip, std::int64_t blocks) noexcept {
  strip.n -= blocks;
  if (strip.n == 0) return false;
  strip.address += blocks * strip.stride;
  return true;
}

/// Moves a strip forward by bytes within its current block; false when it is used up.
bool advance_bytes(Strip& strip, std::int64_t bytes) noexcept {
  strip.done += bytes;
  DUNLIN_ASSERT(strip.done <= strip.block);
  if (strip.done < strip.block) return true;
  strip.done = 0;
  return advance_blocks(strip, 1);
}

struct Left {
  bool to, from;  // something is left of the strip
};

void copy_row(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
              std::int64_t n, std::int64_t block) noexcept {
  const GridKernel kernel = grid_kernel(block, to_stride, from_stride, n);
  kernel(to, Grid{{to_stride, 0}}, from, Grid{{from_stride, 0}}, n, 1, block);
}

/// Copies as much of two strips as one kernel can.
Left merge(Strip& to, Strip& from) noexcept {
  const bool are_whole = to.done == 0 && from.done == 0;
  if (are_whole && to.block == from.block) {
    const std::int64_t n = std::min(to.n, from.n);
    copy_row(to.address, to.stride, from.address, from.stride, n, to.block);
    return {advance_blocks(to, n), advance_blocks(from, n)};
  }
  if (from.done == 0 && from.n > 1 && from.block <= to.block - to.done) {  // several blocks fit into one
    const std::int64_t block = from.block, n = std::min(from.n, (to.block - to.done) / block);
    copy_row(to.address + to.done, block, from.address, from.stride, n, block);
    return {advance_bytes(to, n * block), advance_blocks(from, n)};
  }
  if (to.done == 0 && to.n > 1 && to.block <= from.block - from.done) {
    const std::int64_t block = to.block, n = std::min(to.n, (from.block - from.done) / block);
    copy_row(to.address, to.stride, from.address + from.done, block, n, block);
    return {advance_blocks(to, n), advance_bytes(from, n * block)};
  }
  const std::int64_t bytes = std::min(to.block - to.done, from.block - from.done);
  copy_run(to.address + to.done, from.address + from.done, bytes);
  return {advance_bytes(to, bytes), advance_bytes(from, bytes)};
}

/// Copies until one of the lists is used up; returns the bytes copied.
std::int64_t merge_lists(StripList& to, StripList& from) noexcept {
  const std::int64_t bytes = std::min(to.bytes, from.bytes);
  Strip* t = to.strips;
  Strip* f = from.strips;
  while (t != to.strips + to.used && f != from.strips + from.used) {
    const Left left = merge(*t, *f);
    if (!left.to) ++t;
    if (!left.from) ++f;
  }
  return bytes;
}

Range range_at(std::size_t position, std::size_t bytes) noexcept {
  return {static_cast<std::int64_t>(position), static_cast<std::int64_t>(position + bytes)};
}

}  // namespace

}  // namespace datatype

void copy_range(const Source& from, const Target& to, std::size_t position, std::size_t bytes) noexcept {
  copy_between(from, position, to, position, bytes);
}

void copy_between(const Source& from, std::size_t from_position, const Target& to, std::size_t to_position,
                  std::size_t bytes) noexcept {
  using namespace datatype;
  DUNLIN_ASSERT(bytes <= from.bytes && from_position <= from.bytes - bytes);
  DUNLIN_ASSERT(bytes <= to.bytes && to_position <= to.bytes - bytes);
  if (bytes == 0) return;
  from_position += from.position;
  if (from.is_contiguous()) {
    Cursor cursor(to);
    cursor.seek(to_position);
    cursor.unpack(from.address + from_position, bytes);
    return;
  }
  if (to.is_contiguous()) {
    Cursor cursor(from);
    cursor.seek(from_position);
    cursor.pack(to.address + to_position, bytes);
    return;
  }
  const Layout &from_layout = from.type->layout(), &to_layout = to.type->layout();
  auto* from_buffer = const_cast<std::byte*>(from.address);  // only read
  if (from_position == to_position && to.type->is_laid_out_like(*from.type)) {
    Copier copier{to.address, from_buffer};
    Walk<Copier>(copier).elements(from_layout, std::min(to.count, from.count), from.type->extent(),
                                  range_at(to_position, bytes));
    return;
  }
  while (bytes > 0) {
    StripList to_list(to.address), from_list(from_buffer);
    Walk<StripList>(to_list).elements(to_layout, to.count, to.type->extent(), range_at(to_position, bytes));
    Walk<StripList>(from_list).elements(from_layout, from.count, from.type->extent(),
                                        range_at(from_position, bytes));
    const auto copied = static_cast<std::size_t>(merge_lists(to_list, from_list));
    DUNLIN_ASSERT(copied > 0 && copied <= bytes);
    to_position += copied;
    from_position += copied;
    bytes -= copied;
  }
}

std::size_t copy_data(const Source& from, const Target& to) noexcept {
  const std::size_t bytes = std::min(from.bytes, to.bytes);
  copy_range(from, to, 0, bytes);
  return bytes;
}

}  // namespace dunlin
