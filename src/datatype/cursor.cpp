// Cursors (cursor.hpp): every call is one walk over a range of packed bytes.
#include "datatype/cursor.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/little_behind.hpp"
#include "datatype/datatype.hpp"
#include "datatype/move.hpp"
#include "datatype/walk.hpp"

namespace dunlin {

namespace {

using datatype::Block;
using datatype::Dimension;
using datatype::Layout;
using datatype::Range;
using datatype::Walk;

template <class Visitor>
bool walk(const Datatype& type, std::int64_t count, std::size_t from, std::size_t bytes,
          Visitor& visitor) noexcept {
  const Range range{static_cast<std::int64_t>(from), static_cast<std::int64_t>(from + bytes)};
  return Walk<Visitor>(visitor).elements(type.layout(), count, type.extent(), range);
}

/// Visitor that writes runs down until the room is used up.
struct Collector {
  std::byte* buffer;
  std::span<Piece> pieces;
  std::size_t used = 0;
  std::size_t bytes = 0;

  bool run(std::int64_t offset, std::int64_t run_bytes) noexcept {
    std::byte* address = datatype::moved(buffer, offset);
    const auto n = static_cast<std::size_t>(run_bytes);
    if (used > 0 && pieces[used - 1].address + pieces[used - 1].bytes == address) {
      pieces[used - 1].bytes += n;
    } else {
      if (used == pieces.size()) return false;
      pieces[used++] = {address, n};
    }
    bytes += n;
    return true;
  }
  bool grid(std::int64_t offset, std::int64_t block, Dimension columns, Dimension rows) noexcept {
    for (std::int64_t j = 0; j < rows.count; ++j)
      for (std::int64_t i = 0; i < columns.count; ++i)
        if (!run(offset + j * rows.stride + i * columns.stride, block)) return false;
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

}  // namespace

Cursor::Cursor(const Source& data) noexcept
    : type_(data.type),
      count_(data.count),
      buffer_(const_cast<std::byte*>(data.address)),
      bytes_(data.position + data.bytes),
      position_(data.position) {}

Cursor::Cursor(const Target& data) noexcept
    : type_(data.type), count_(data.count), buffer_(data.address), bytes_(data.bytes) {}

Cursor::Cursor(const Datatype& type, std::int64_t count, const void* buffer) noexcept
    : Cursor(source_of(type, buffer, count)) {}

void Cursor::seek(std::size_t position) noexcept {
  DUNLIN_ASSERT(position <= bytes_);
  position_ = position;
}

std::size_t Cursor::pack(std::byte* to, std::size_t bytes_max) noexcept {
  const std::size_t bytes = std::min(bytes_max, remaining());
  if (bytes == 0) return 0;
  if (!type_) {
    copy_block(to, buffer_ + position_, bytes);
  } else {
    datatype::Packer packer{to, buffer_};
    walk(*type_, count_, position_, bytes, packer);
    DUNLIN_ASSERT(packer.to == to + bytes);
  }
  position_ += bytes;
  return bytes;
}

std::size_t Cursor::unpack(const std::byte* from, std::size_t bytes_max) noexcept {
  const std::size_t bytes = std::min(bytes_max, remaining());
  if (bytes == 0) return 0;
  if (!type_) {
    copy_block(buffer_ + position_, from, bytes);
  } else {
    datatype::Unpacker unpacker{buffer_, from};
    walk(*type_, count_, position_, bytes, unpacker);
    DUNLIN_ASSERT(unpacker.from == from + bytes);
  }
  position_ += bytes;
  return bytes;
}

std::size_t Cursor::pieces(std::span<Piece> pieces, std::size_t bytes_max) noexcept {
  const std::size_t bytes = std::min(bytes_max, remaining());
  if (bytes == 0 || pieces.empty()) return 0;
  if (!type_) {
    pieces[0] = {buffer_ + position_, bytes};
    position_ += bytes;
    return 1;
  }
  Collector collector{buffer_, pieces};
  const bool is_all = walk(*type_, count_, position_, bytes, collector);
  DUNLIN_ASSERT(is_all == (collector.bytes == bytes));
  position_ += collector.bytes;
  return collector.used;
}

}  // namespace dunlin
