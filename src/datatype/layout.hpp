// The normal form of a type's layout: which bytes lie where, in packed order, without element kinds.
//
// Constructors build it bottom up from the old type's layout, so that no walk is ever deeper than the form
// that came out, however deep the program nested its types.  Regular things end as one `strided` (up to three
// nested strides over one block), irregular ones as a list of blocks; only what is neither is a tree of
// `repeat` and `sequence`. Walked by datatype/walk.hpp; described in docs/datatypes.md.
//
// Thread safety: see datatype/shared_part.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datatype/shared_part.hpp"

namespace dunlin::datatype {

struct Dimension {
  std::int64_t count = 1;
  std::int64_t stride = 0;  // bytes; may be zero or negative
  bool operator==(const Dimension&) const = default;
};

/// Equal blocks at equal distances, in up to three nested loops.  dimension[0] is the innermost.
struct Strided {
  static constexpr int kDimensionsMax = 3;
  std::int64_t offset = 0;  // bytes, of the first block
  std::int64_t block = 0;   // bytes
  std::int64_t bytes = 0;   // block * all counts
  int dimensions = 0;       // 0: one block
  Dimension dimension[kDimensionsMax];

  bool operator==(const Strided&) const = default;
  /// Lays `count` copies `stride` bytes apart; false when that takes one dimension too many.
  bool try_repeat(std::int64_t count, std::int64_t stride) noexcept;
};

struct Block {
  std::int64_t offset;    // bytes
  std::int64_t bytes;
  std::int64_t position;  // packed bytes before it
  bool operator==(const Block&) const = default;
};

struct Layout;
using LayoutRef = Ref<const Layout>;

struct Part {
  std::int64_t offset;    // bytes
  std::int64_t position;  // packed bytes before it
  LayoutRef layout;
};

struct Layout : SharedPart<Layout> {
  enum class Form : std::uint8_t {
    strided,   // `strided`
    indexed,   // blocks of strided.block bytes at strided.offset + `offsets`
    blocks,    // `blocks`, of any sizes, of which no two neighbours touch
    repeat,    // `parts[0].layout` `dimension.count` times, from parts[0].offset on
    sequence,  // `parts`
  };

  Form form = Form::strided;
  int depth = 0;            // nested `repeat` and `sequence` below
  std::int64_t bytes = 0;   // packed
  std::int64_t runs = 0;    // contiguous runs; saturates at INT64_MAX
  Strided strided;
  Dimension dimension;
  std::vector<std::int32_t> offsets;  // short, because a list of small blocks is read as fast as its blocks
  std::vector<Block> blocks;
  std::vector<Part> parts;

  bool is_run() const noexcept { return form == Form::strided && strided.dimensions == 0; }
  /// Few runs, so that many repetitions are best moved run by run (walk.hpp, `records`).
  bool is_record() const noexcept {
    return (form == Form::blocks || form == Form::indexed) && runs <= kRecordRunsMax;
  }
  static constexpr std::int64_t kRecordRunsMax = 64;
  /// visit(Block) for every run of a record, in packed order, until it returns false; false when it did.
  template <class Visit>
  bool visit_record(Visit visit) const noexcept {
    for (const Block& block : blocks)
      if (!visit(block)) return false;
    Block block{0, strided.block, 0};
    for (const std::int64_t at : offsets) {
      block.offset = strided.offset + at;
      if (!visit(block)) return false;
      block.position += block.bytes;
    }
    return true;
  }
};

/// One run of `bytes` at `offset`.
LayoutRef make_run(std::int64_t offset, std::int64_t bytes) noexcept;
/// Copies in nested loops, the innermost first; `stride` bytes apart.
LayoutRef make_repeat(const LayoutRef& layout, std::span<const Dimension> loops) noexcept;
/// Blocks in the given order; positions are filled in here, neighbours that touch are joined where that pays.
LayoutRef make_blocks(std::vector<Block> blocks) noexcept;
/// Parts one behind the other in packed order; positions are filled in here.
LayoutRef make_sequence(std::vector<Part> parts) noexcept;

/// Whether both hold the same bytes in the same order by the same form (the same constructors give the same
/// form).
bool is_same(const Layout& a, const Layout& b) noexcept;

}  // namespace dunlin::datatype
