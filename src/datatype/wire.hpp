// A type's layout as bytes, so that a peer who maps our memory can copy from it or into it without packing.
//
// Only what moves bytes travels: extent and normal form, no element kinds and no history.  Called by
// protocol/ when it offers a buffer that is not contiguous; the receiver keeps decoded types by peer and
// `Datatype::serial`.  Both sides are one build of this library on one machine, so words are native; the
// decoder still trusts nothing it reads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/err.hpp"
#include "datatype/datatype.hpp"

namespace dunlin::datatype {

/// Longer layouts are not worth sending: packing costs less than reading the list.
inline constexpr std::size_t kWireBytesMax = std::size_t{1} << 20;

/// Empty when it would be longer than `kWireBytesMax`.
std::vector<std::byte> encode_layout(const Datatype& type) noexcept;
/// A committed type of bytes with that layout.
Result<Ref<Datatype>> decode_layout(std::span<const std::byte> wire) noexcept;

}  // namespace dunlin::datatype
