// hot path: the visitors that move bytes: pack, unpack, and copy between two buffers of one layout.
//
// They differ only in which side is dense, so they are one template.  Used by datatype/cursor.cpp and
// copy.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

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
    const Grid dense{{block, block * columns.count}}, mapped{{columns.stride, rows.stride}};
    grid_kernel(block)(to_at(offset), kTo == Side::dense ? dense : mapped, from_at(offset),
                       kFrom == Side::dense ? dense : mapped, columns.count, rows.count, block);
    return advance(block * columns.count * rows.count);
  }

  bool indexed(std::int64_t offset, const std::int64_t* offsets, std::int64_t n,
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
    constexpr std::int64_t kChunkBytes = 8192;
    const std::int64_t record_span = std::max({stride, -stride, layout.bytes});
    const std::int64_t chunk = std::clamp(kChunkBytes / record_span, std::int64_t{16}, std::int64_t{512});
    for (std::int64_t first = 0; first < n; first += chunk)
      chunk_of_records(offset + first * stride, std::min(chunk, n - first), stride, layout);
    return true;
  }

 private:
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
    const auto member = [&](std::int64_t at, std::int64_t position, std::int64_t bytes) noexcept {
      std::byte* target = kTo == Side::dense ? to + position : moved(to, offset + at);
      const std::byte* source = kFrom == Side::dense ? from + position : moved(from, offset + at);
      grid_kernel(bytes)(target, kTo == Side::dense ? dense : mapped, source,
                         kFrom == Side::dense ? dense : mapped, n, 1, bytes);
    };
    if (layout.form == Layout::Form::indexed) {
      const std::int64_t block = layout.strided.block;
      std::int64_t position = 0;
      for (std::int64_t at : layout.offsets) {
        member(at, position, block);
        position += block;
      }
    } else {
      for (const Block& block : layout.blocks) member(block.offset, block.position, block.bytes);
    }
    advance(n * layout.bytes);
  }
};

using Packer = Mover<Side::dense, Side::mapped>;
using Unpacker = Mover<Side::mapped, Side::dense>;
using Copier = Mover<Side::mapped, Side::mapped>;

}  // namespace dunlin::datatype
