// Sees what a simulation copies and combines, at the functions that do it, with the addresses: what a counter
// beside a call would miss (another copy, a detour by a buffer in between) is seen here.
//
// Copies are those of copy/copy.hpp and datatype/cursor.hpp; the linker puts watch.cpp before them
// (test/CMakeLists.txt).  Combinations are sums of MPI_INT64_T, whose kernels are exchanged in the table.
//
//   struct Count : Watch { void see(const Moved& moved) override { ... } } count;
#pragma once

#include <cstddef>
#include <span>

namespace dunlin::test {

/// One call that is to be done next.
struct Moved {
  std::span<const void* const> from;  // the operands of a kernel; of a copy one
  const void* to;
  std::size_t bytes;  // of each
  bool is_combined;
};

/// From when it is made until it ends; one at a time.
class Watch {
 public:
  Watch();
  virtual ~Watch();
  Watch(const Watch&) = delete;
  /// May let other ranks run, where ranks have stacks.
  virtual void see(const Moved& moved) = 0;
};

}  // namespace dunlin::test
