// Which predefined elements a type holds, in packed order, without displacements: what MPI_Get_elements
// counts, external32 converts and accumulate reduces.
//
// Built bottom up like the layout (datatype/layout.hpp).  Thread safety: see datatype/shared_part.hpp.
#pragma once

#include <cstdint>

#include "datatype/basic.hpp"
#include "datatype/shared_part.hpp"

namespace dunlin {
class Datatype;
}

namespace dunlin::datatype {

struct Signature;
using SignatureRef = Ref<const Signature>;

/// `count` times a predefined type, or `count` times a signature of more than one entry.
struct SignatureEntry {
  const Datatype* type = nullptr;  // predefined; nullptr: `inner`
  std::int64_t count = 0;
  SignatureRef inner;
};

struct Signature : SharedPart<Signature> {
  std::int64_t bytes = 0;           // packed, native
  std::int64_t external_bytes = 0;  // packed, external32
  std::int64_t elements = 0;        // as MPI_Get_elements counts; a pair counts as two
  int depth = 0;                    // nested `inner` below
  PoolVector<SignatureEntry> entries;

  /// The one predefined type that all elements have, or nullptr.
  const Datatype* uniform_type() const noexcept {
    return entries.size() == 1 ? entries[0].type : nullptr;
  }
};

/// `count` elements of a predefined type; none when `type` is nullptr.
SignatureRef make_signature(const Datatype* type, std::int64_t count) noexcept;
SignatureRef repeat_signature(const SignatureRef& signature, std::int64_t count) noexcept;
SignatureRef sequence_signature(PoolVector<SignatureEntry> entries) noexcept;

/// Elements in the first `bytes` packed bytes of many such types in a row; -1 when `bytes` ends inside an
/// element.
std::int64_t elements_in_bytes(const Signature& signature, std::int64_t bytes) noexcept;
/// Packed bytes of the first `elements` elements of many such types in a row.
std::int64_t bytes_of_elements(const Signature& signature, std::int64_t elements) noexcept;

/// The two parts of a pair, or the kind itself and `none`.
struct Parts {
  Basic first;
  Basic second;
};
Parts parts_of(Basic basic) noexcept;
/// Native bytes of one element that is no pair; 0 for `none`.
std::int64_t bytes_of(Basic basic) noexcept;
/// Bytes in the external32 representation (MPI 5.0, 14.5.2): of a kind that is no pair, and of any predefined
/// type.
std::int64_t external_bytes_of_kind(Basic basic) noexcept;
std::int64_t external_bytes_of(const Datatype& predefined) noexcept;

}  // namespace dunlin::datatype
