// Walking over data that is not contiguous: pack, unpack, pieces for iovecs, and direct copies from layout to
// layout.
//
// A cursor is a byte position in the packed order of (type, count, buffer), nothing more: it may stop after
// any byte and be moved to any byte, at the cost of O(depth * log(blocks)) to find its place again.  Who
// calls: transports (pack straight into cells), protocol/ (rendezvous through mapped memory, iovecs for CMA),
// the chapter's own MPI_Pack. Described in docs/datatypes.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "datatype/data.hpp"

namespace dunlin {

/// One run of a program's buffer, like an iovec.
struct Piece {
  std::byte* address;
  std::size_t bytes;
};

class Cursor {
 public:
  Cursor() = default;
  explicit Cursor(const Source& data) noexcept;
  explicit Cursor(const Target& data) noexcept;
  Cursor(const Datatype& type, std::int64_t count, const void* buffer) noexcept;

  /// Packed bytes from the first of the buffer on, and how many lie before and behind the cursor.
  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t position() const noexcept { return position_; }
  std::size_t remaining() const noexcept { return bytes_ - position_; }
  void seek(std::size_t position) noexcept;

  /// Copies up to `bytes_max` bytes from the buffer to `to` and moves on; returns how many.
  std::size_t pack(std::byte* to, std::size_t bytes_max) noexcept;
  /// Copies up to `bytes` bytes from `from` into the buffer and moves on; returns how many fitted.
  std::size_t unpack(const std::byte* from, std::size_t bytes) noexcept;
  /// Writes the next runs of the buffer, at most pieces.size() of them with at most `bytes_max` bytes
  /// together, and moves behind them.  Returns how many.  Neighbouring runs are joined.
  std::size_t pieces(std::span<Piece> pieces, std::size_t bytes_max) noexcept;

 private:
  const Datatype* type_ = nullptr;  // nullptr: contiguous
  std::int64_t count_ = 0;          // elements of `type_`
  std::byte* buffer_ = nullptr;     // the program's; only unpack and copy write to it
  std::size_t bytes_ = 0;
  std::size_t position_ = 0;
};

/// Copies the packed bytes [position, position + bytes) of `from`, counted from its first one, to the same
/// positions of `to`, straight from layout to layout.  Both must be addressable here (a mapping of a peer's
/// memory will do) and hold that many bytes; they must not overlap.  Finding the place costs as much as for a
/// cursor, so that data may be copied in any pieces, by several threads or processes at once.
void copy_range(const Source& from, const Target& to, std::size_t position, std::size_t bytes) noexcept;
/// Copies min(from.bytes, to.bytes) bytes and returns how many.
std::size_t copy_data(const Source& from, const Target& to) noexcept;

}  // namespace dunlin
