// hot path: the visitors that move bytes: pack, unpack, and copy between two buffers of one layout.
//
// They differ only in which side is dense, so they are one template.  Used by datatype/cursor.cpp and
// copy.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "datatype/kernels.hpp"
#include "datatype/layout.hpp"

namespace dunlin::datatype {

enum class Side : bool { mapped, dense };

/// `to` and `from` are the program's buffers where `mapped`, else the next packed byte.
template <Side kTo, Side kFrom>
struct Mover {
  std::byte* to;
  const std::byte* from;

  bool run(std::int64_t offset, std::int64_t bytes) noexcept {
    copy_run(to_at(offset), from_at(offset), bytes);
    return advance(bytes);
  }

  bool grid(std::int64_t offset, std::int64_t block, Dimension columns, Dimension rows) noexcept {
    const std::int64_t bytes = block * columns.count * rows.count;
    const GridAt all{offset, block, columns, rows};
    if (rows.count == 1 || columns.count == 1 || magnitude(rows.stride) >= magnitude(columns.stride))
      part_of_grid(all, {0, 0, columns.count, rows.count});
    else if constexpr (kTo == Side::mapped && kFrom == Side::mapped)
      in_memory_order(all);
    else
      tiled(all);
    return advance(bytes);
  }

  bool indexed(std::int64_t offset, const std::int32_t* offsets, std::int64_t n,
               std::int64_t block) noexcept {
    const IndexedKernels& kernels = indexed_kernels(block);
    const IndexedKernel kernel = kTo == Side::dense     ? kernels.gather
                                 : kFrom == Side::dense ? kernels.scatter
                                                        : kernels.same;
    kernel(to_at(offset), from_at(offset), offsets, n, block);
    return advance(block * n);
  }

  bool blocks(std::int64_t offset, const Block* blocks, std::int64_t n) noexcept {
    if constexpr (kTo == Side::dense)
      gather_blocks(to, from_at(offset), blocks, n);
    else if constexpr (kFrom == Side::dense)
      scatter_blocks(to_at(offset), from, blocks, n);
    else
      copy_blocks(to_at(offset), from_at(offset), blocks, n);
    return advance(blocks[n - 1].position + blocks[n - 1].bytes - blocks[0].position);
  }

  /// Moves one member of many records before the next member, so that every inner loop has one size; in
  /// chunks whose records stay in the first-level cache until all members are moved.
  bool records(std::int64_t offset, std::int64_t n, std::int64_t stride, const Layout& layout) noexcept {
    if constexpr (kTo == Side::mapped && kFrom == Side::mapped)
      if (try_copy_records(moved(to, offset), moved(from, offset), n, stride, layout)) return true;
    constexpr std::int64_t kChunkBytes = 8192;
    const std::int64_t record_span = std::max({stride, -stride, layout.bytes});
    const std::int64_t chunk = std::clamp(kChunkBytes / record_span, std::int64_t{16}, std::int64_t{512});
    for (std::int64_t first = 0; first < n; first += chunk)
      chunk_of_records(offset + first * stride, std::min(chunk, n - first), stride, layout);
    return true;
  }

 private:
  struct GridAt {
    std::int64_t offset, block;
    Dimension columns, rows;
  };
  struct PartOfGrid {
    std::int64_t column, row, columns, rows;  // the first, and how many
  };

  static std::int64_t magnitude(std::int64_t stride) noexcept { return stride < 0 ? -stride : stride; }

  /// Columns of a matrix whose rows lie in memory: packed block by block, every line would be fetched once
  /// for each of its blocks.  A tile uses the lines of a few columns up before it goes on.
  void tiled(const GridAt& grid) noexcept {
    constexpr std::int64_t kColumns = 16, kLineBytes = 64;
    const std::int64_t per_line = kLineBytes / std::max(magnitude(grid.rows.stride), std::int64_t{1});
    const std::int64_t rows = std::clamp(per_line, std::int64_t{4}, std::int64_t{32});
    for (std::int64_t column = 0; column < grid.columns.count; column += kColumns)
      for (std::int64_t row = 0; row < grid.rows.count; row += rows)
        part_of_grid(grid, {column, row, std::min(kColumns, grid.columns.count - column),
                            std::min(rows, grid.rows.count - row)});
  }

  /// Both sides have one layout, so the order is free: the smaller stride becomes the inner loop, or one run.
  void in_memory_order(const GridAt& grid) noexcept {
    Strided s;
    s.block = s.bytes = grid.block;
    const bool fits = s.try_repeat(grid.rows.count, grid.rows.stride) &&
                      s.try_repeat(grid.columns.count, grid.columns.stride);
    DUNLIN_ASSERT(fits);
    const Dimension* d = s.dimension;
    part_of_grid({grid.offset, s.block, d[0], d[1]}, {0, 0, d[0].count, d[1].count});
  }

  void part_of_grid(const GridAt& grid, const PartOfGrid& part) noexcept {
    const Grid dense{{grid.block, grid.block * grid.columns.count}};
    const Grid mapped{{grid.columns.stride, grid.rows.stride}};
    const std::int64_t dense_at = part.row * dense.stride[1] + part.column * dense.stride[0];
    const std::int64_t mapped_at = grid.offset + part.row * mapped.stride[1] + part.column * mapped.stride[0];
    std::byte* target = kTo == Side::dense ? to + dense_at : moved(to, mapped_at);
    const std::byte* source = kFrom == Side::dense ? from + dense_at : moved(from, mapped_at);
    const Grid& to_grid = kTo == Side::dense ? dense : mapped;
    const Grid& from_grid = kFrom == Side::dense ? dense : mapped;
    const std::int64_t n = part.columns * part.rows;
    const GridKernel kernel = grid_kernel(grid.block, to_grid.stride[0], from_grid.stride[0], n);
    kernel(target, to_grid, source, from_grid, part.columns, part.rows, grid.block);
  }

  std::byte* to_at(std::int64_t offset) const noexcept { return kTo == Side::dense ? to : moved(to, offset); }
  const std::byte* from_at(std::int64_t offset) const noexcept {
    return kFrom == Side::dense ? from : moved(from, offset);
  }
  bool advance(std::int64_t bytes) noexcept {
    if (kTo == Side::dense) to += bytes;
    if (kFrom == Side::dense) from += bytes;
    return true;
  }

  void chunk_of_records(std::int64_t offset, std::int64_t n, std::int64_t stride,
                        const Layout& layout) noexcept {
    const Grid dense{{layout.bytes, 0}}, mapped{{stride, 0}};
    layout.visit_record([&](const Block& member) noexcept {
      std::byte* target = kTo == Side::dense ? to + member.position : moved(to, offset + member.offset);
      const std::byte* source =
          kFrom == Side::dense ? from + member.position : moved(from, offset + member.offset);
      grid_kernel(member.bytes)(target, kTo == Side::dense ? dense : mapped, source,
                                kFrom == Side::dense ? dense : mapped, n, 1, member.bytes);
      return true;
    });
    advance(n * layout.bytes);
  }
};

using Packer = Mover<Side::dense, Side::mapped>;
using Unpacker = Mover<Side::mapped, Side::dense>;
using Copier = Mover<Side::mapped, Side::mapped>;

}  // namespace dunlin::datatype
