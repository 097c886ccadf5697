// A program's buffer with its layout: what is sent from (`Source`) and what is received into (`Target`).
//
// `bytes` is the packed size of the data.  `type` is nullptr when the data is one contiguous run at
// `address`: then no transport or protocol needs to know datatypes.  Otherwise pieces come from
// `datatype/cursor.hpp`, and `position` tells where in the packed order of the whole buffer they begin: a
// transport packs any part of a buffer straight into its cells.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dunlin {

class Datatype;

struct Source {
  const std::byte* address = nullptr;  // first byte (contiguous), or the buffer argument of the call
  std::size_t bytes = 0;               // packed size
  const Datatype* type = nullptr;      // nullptr: contiguous
  std::int64_t count = 0;              // elements of `type`; unused when contiguous
  std::size_t position = 0;            // packed bytes before the first one; 0 when contiguous
  bool is_contiguous() const noexcept { return type == nullptr; }
};

struct Target {
  std::byte* address = nullptr;
  std::size_t bytes = 0;               // room, packed
  const Datatype* type = nullptr;
  std::int64_t count = 0;
  bool is_contiguous() const noexcept { return type == nullptr; }
};

}  // namespace dunlin
