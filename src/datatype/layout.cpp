// Building the normal form of layouts (layout.hpp).  Cost: O(blocks of the result) per constructor.
#include "datatype/layout.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace dunlin::datatype {

namespace {

// Up to this many runs a mixed bag of parts is written out as a list of blocks: a list is faster to walk than
// a tree, and 24 KiB a type is bearable.
constexpr std::int64_t kFlattenRunsMax = 1024;
// Trees deeper than this are flattened by splicing whatever it takes, so that walks have bounded stack.
constexpr int kDepthMax = 48;

LayoutRef adopt(Layout* layout) noexcept { return LayoutRef::adopt(layout); }

std::int64_t saturated_product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

LayoutRef make_strided(const Strided& strided) noexcept {
  auto* layout = new Layout;
  layout->strided = strided;
  layout->bytes = strided.bytes;
  layout->runs = strided.bytes ? strided.bytes / strided.block : 0;
  return adopt(layout);
}

/// Appends the runs of `layout` shifted by `offset`; only for layouts of few runs.
void append_blocks(const Layout& layout, std::int64_t offset, std::vector<Block>* to) noexcept {
  switch (layout.form) {
    case Layout::Form::strided: {
      const Strided& s = layout.strided;
      const Dimension* d = s.dimension;
      for (std::int64_t k = 0; k < d[2].count; ++k)
        for (std::int64_t j = 0; j < d[1].count; ++j)
          for (std::int64_t i = 0; i < d[0].count; ++i) {
            const std::int64_t at = s.offset + k * d[2].stride + j * d[1].stride + i * d[0].stride;
            to->push_back({offset + at, s.block, 0});
          }
      break;
    }
    case Layout::Form::indexed:
      for (std::int64_t at : layout.offsets)
        to->push_back({offset + layout.strided.offset + at, layout.strided.block, 0});
      break;
    case Layout::Form::blocks:
      for (const Block& block : layout.blocks) to->push_back({offset + block.offset, block.bytes, 0});
      break;
    case Layout::Form::repeat: {
      const Part& part = layout.parts[0];
      for (std::int64_t i = 0; i < layout.dimension.count; ++i)
        append_blocks(*part.layout, offset + part.offset + i * layout.dimension.stride, to);
      break;
    }
    case Layout::Form::sequence:
      for (const Part& part : layout.parts) append_blocks(*part.layout, offset + part.offset, to);
      break;
  }
}

/// Joins neighbours that touch, and fills in the positions.
void join_blocks(std::vector<Block>* blocks) noexcept {
  std::size_t kept = 0;
  for (const Block& block : *blocks) {
    if (kept > 0 && (*blocks)[kept - 1].offset + (*blocks)[kept - 1].bytes == block.offset)
      (*blocks)[kept - 1].bytes += block.bytes;
    else
      (*blocks)[kept++] = block;
  }
  blocks->resize(kept);
  std::int64_t position = 0;
  for (Block& block : *blocks) {
    block.position = position;
    position += block.bytes;
  }
}

/// Blocks of one size within 2 GiB of the first.
bool are_indexable(const std::vector<Block>& blocks) noexcept {
  return std::all_of(blocks.begin(), blocks.end(), [&](const Block& block) {
    const std::int64_t offset = block.offset - blocks[0].offset;
    return block.bytes == blocks[0].bytes && offset == static_cast<std::int32_t>(offset);
  });
}

bool are_uniform(const std::vector<Block>& blocks) noexcept {
  const std::int64_t bytes = blocks[0].bytes;
  return std::all_of(blocks.begin(), blocks.end(), [=](const Block& block) { return block.bytes == bytes; });
}

/// Recognises blocks of one size at one distance (or in rows of such); false when they are irregular.
bool try_make_strided(const std::vector<Block>& blocks, Strided* strided) noexcept {
  const auto n = static_cast<std::int64_t>(blocks.size());
  if (!are_uniform(blocks)) return false;
  Strided s;
  s.offset = blocks[0].offset;
  s.block = s.bytes = blocks[0].bytes;
  const std::int64_t stride = n > 1 ? blocks[1].offset - blocks[0].offset : 0;
  std::int64_t row = 1;
  while (row < n && blocks[row].offset - blocks[row - 1].offset == stride) ++row;
  if (n % row != 0) return false;
  const std::int64_t row_stride = row < n ? blocks[row].offset - blocks[0].offset : 0;
  for (std::int64_t i = 0; i < n; ++i)
    if (blocks[i].offset != s.offset + i / row * row_stride + i % row * stride) return false;
  if (!s.try_repeat(row, stride) || !s.try_repeat(n / row, row_stride)) return false;
  *strided = s;
  return true;
}

/// The same layout `offset` bytes further on.
LayoutRef shifted(const LayoutRef& layout, std::int64_t offset) noexcept {
  if (offset == 0) return layout;
  if (layout->form == Layout::Form::strided) {
    Strided strided = layout->strided;
    strided.offset += offset;
    return make_strided(strided);
  }
  auto* moved = new Layout;
  moved->form = layout->form;
  moved->depth = layout->depth;
  moved->bytes = layout->bytes;
  moved->runs = layout->runs;
  moved->strided = layout->strided;
  if (layout->form == Layout::Form::indexed) moved->strided.offset += offset;
  moved->dimension = layout->dimension;
  moved->offsets = layout->offsets;
  moved->blocks = layout->blocks;
  moved->parts = layout->parts;
  for (Block& block : moved->blocks) block.offset += offset;
  for (Part& part : moved->parts) part.offset += offset;
  return adopt(moved);
}

/// Replaces parts that are sequences themselves by their parts, where that stays small or saves the stack.
std::vector<Part> splice(std::vector<Part> parts) noexcept {
  std::vector<Part> spliced;
  spliced.reserve(parts.size());
  for (Part& part : parts) {
    const Layout& layout = *part.layout;
    const bool is_small = static_cast<std::int64_t>(layout.parts.size()) <= kFlattenRunsMax;
    if (layout.form == Layout::Form::sequence && (is_small || layout.depth >= kDepthMax)) {
      for (const Part& inner : layout.parts) spliced.push_back({part.offset + inner.offset, 0, inner.layout});
    } else {
      spliced.push_back(std::move(part));
    }
  }
  return spliced;
}

/// `loop` around a layout, at least two copies.
LayoutRef repeated(const LayoutRef& layout, const Dimension& loop) noexcept {
  if (layout->form == Layout::Form::strided) {
    Strided strided = layout->strided;
    if (strided.try_repeat(loop.count, loop.stride)) return make_strided(strided);
  }
  auto* repeat = new Layout;
  repeat->form = Layout::Form::repeat;
  repeat->bytes = layout->bytes * loop.count;
  repeat->runs = saturated_product(layout->runs, loop.count);
  repeat->depth = layout->depth + 1;
  repeat->dimension = loop;
  repeat->parts.push_back({0, 0, layout});
  return adopt(repeat);
}

/// All parts are one layout at one distance: `stride` apart.
bool are_equally_spaced(const std::vector<Part>& parts, std::int64_t* stride) noexcept {
  *stride = parts.size() > 1 ? parts[1].offset - parts[0].offset : 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].layout.get() != parts[0].layout.get()) return false;
    if (parts[i].offset - parts[i - 1].offset != *stride) return false;
  }
  return true;
}

}  // namespace

bool Strided::try_repeat(std::int64_t count, std::int64_t stride) noexcept {
  DUNLIN_ASSERT(count > 0);
  if (count == 1) return true;
  if (dimensions == 0 && stride == block) {
    block *= count;
  } else if (dimensions > 0 && stride == dimension[dimensions - 1].count * dimension[dimensions - 1].stride) {
    dimension[dimensions - 1].count *= count;
  } else if (dimensions < kDimensionsMax) {
    dimension[dimensions++] = {count, stride};
  } else {
    return false;
  }
  bytes *= count;
  return true;
}

LayoutRef make_run(std::int64_t offset, std::int64_t bytes) noexcept {
  Strided strided;
  strided.offset = bytes ? offset : 0;
  strided.block = strided.bytes = bytes;
  return make_strided(strided);
}

LayoutRef make_repeat(const LayoutRef& layout, std::span<const Dimension> loops) noexcept {
  if (layout->bytes == 0) return make_run(0, 0);
  Strided strided = layout->strided;
  bool is_strided = layout->form == Layout::Form::strided;
  for (const Dimension& loop : loops) {
    DUNLIN_ASSERT(loop.count >= 0);
    if (loop.count == 0) return make_run(0, 0);
    is_strided = is_strided && strided.try_repeat(loop.count, loop.stride);
  }
  if (is_strided) return strided == layout->strided ? layout : make_strided(strided);
  LayoutRef made = layout;
  for (const Dimension& loop : loops)
    if (loop.count > 1) made = repeated(made, loop);
  return made;
}

LayoutRef make_blocks(std::vector<Block> blocks) noexcept {
  std::erase_if(blocks, [](const Block& block) { return block.bytes == 0; });
  std::vector<Block> joined = blocks;
  join_blocks(&joined);
  if (joined.empty()) return make_run(0, 0);
  if (joined.size() == 1) return make_run(joined[0].offset, joined[0].bytes);
  Strided strided;
  if (try_make_strided(joined, &strided)) return make_strided(strided);
  // Blocks of one size move at twice the speed of irregular ones, so joining a few neighbours would not pay.
  const bool are_many_joined = joined.size() < blocks.size() / 2;
  if (!are_indexable(blocks) || are_uniform(joined) || are_many_joined) blocks = std::move(joined);

  auto* layout = new Layout;
  layout->runs = static_cast<std::int64_t>(blocks.size());
  for (const Block& block : blocks) layout->bytes += block.bytes;
  if (are_indexable(blocks)) {
    layout->form = Layout::Form::indexed;
    layout->strided.block = blocks[0].bytes;
    layout->strided.offset = blocks[0].offset;
    layout->offsets.reserve(blocks.size());
    for (const Block& block : blocks)
      layout->offsets.push_back(static_cast<std::int32_t>(block.offset - blocks[0].offset));
  } else {
    layout->form = Layout::Form::blocks;
    blocks.shrink_to_fit();
    layout->blocks = std::move(blocks);
  }
  return adopt(layout);
}

LayoutRef make_sequence(std::vector<Part> parts) noexcept {
  std::erase_if(parts, [](const Part& part) { return part.layout->bytes == 0; });
  if (parts.empty()) return make_run(0, 0);
  std::int64_t stride;
  const auto n = static_cast<std::int64_t>(parts.size());
  if (are_equally_spaced(parts, &stride))
    return make_repeat(shifted(parts[0].layout, parts[0].offset), {{Dimension{n, stride}}});

  std::int64_t runs = 0;
  bool are_all_runs = true;
  for (const Part& part : parts) {
    if (__builtin_add_overflow(runs, part.layout->runs, &runs)) runs = INT64_MAX;
    are_all_runs = are_all_runs && part.layout->is_run();
  }
  if (are_all_runs || runs <= kFlattenRunsMax) {
    std::vector<Block> blocks;
    blocks.reserve(static_cast<std::size_t>(runs));
    for (const Part& part : parts) append_blocks(*part.layout, part.offset, &blocks);
    return make_blocks(std::move(blocks));
  }
  auto* sequence = new Layout;
  sequence->form = Layout::Form::sequence;
  sequence->parts = splice(std::move(parts));
  sequence->runs = runs;
  for (Part& part : sequence->parts) {
    part.position = sequence->bytes;
    sequence->bytes += part.layout->bytes;
    sequence->depth = std::max(sequence->depth, part.layout->depth + 1);
  }
  return adopt(sequence);
}

bool is_same(const Layout& a, const Layout& b) noexcept {
  if (&a == &b) return true;
  if (a.form != b.form || a.bytes != b.bytes || a.runs != b.runs) return false;
  if (a.parts.size() != b.parts.size()) return false;
  if (!(a.strided == b.strided) || !(a.dimension == b.dimension)) return false;
  if (a.offsets != b.offsets || a.blocks != b.blocks) return false;
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    if (a.parts[i].offset != b.parts[i].offset) return false;
    if (!is_same(*a.parts[i].layout, *b.parts[i].layout)) return false;
  }
  return true;
}

}  // namespace dunlin::datatype
