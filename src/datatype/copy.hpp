// Copies straight from layout to layout where the bytes have other positions on the two sides; the rest is in
// datatype/cursor.hpp.  Called by io/, for which a part of a file in memory is one of the sides.
#pragma once

#include <cstddef>

#include "datatype/data.hpp"

namespace dunlin {

/// Copies `bytes` packed bytes, from position `from_position` of `from` on to position `to_position` of `to`
/// on; otherwise as `copy_range`.
void copy_between(const Source& from, std::size_t from_position, const Target& to, std::size_t to_position,
                  std::size_t bytes) noexcept;

}  // namespace dunlin
