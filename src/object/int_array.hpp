// An array of counts or displacements as a program passes it: `int` in the classic calls, 64 bits in the `_c`
// ones.
//
// Lets one body serve both forms of a call without copying the array first (bindings/c makes it, datatype/
// and coll/ read it).
#pragma once

#include <cstdint>

namespace dunlin {

struct IntArray {
  const void* data = nullptr;  // const int* or const std::int64_t*, owned by the program
  bool wide = false;           // true: 64-bit values (MPI_Count, MPI_Aint, MPI_Offset)

  std::int64_t operator[](std::int64_t index) const noexcept {
    return wide ? static_cast<const std::int64_t*>(data)[index] : static_cast<const int*>(data)[index];
  }
};

}  // namespace dunlin
