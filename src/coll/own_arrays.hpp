// Copies of a program's arrays of counts, displacements and datatypes, for collectives that outlive their
// call.
//
// The standard lets the library read them until the operation is complete or freed (MPI 5.0, 6.12), yet
// programs exist that free them right after the call (mpi4py 4.1 does), because other libraries copy.  Made
// by CollectiveRequestOf (coll/plan.hpp); cost: one allocation and 8 to 24 bytes a rank for the v- and
// w-forms, nothing for others.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "object/int_array.hpp"

namespace dunlin::coll {

class OwnArrays {
 public:
  OwnArrays() = default;
  OwnArrays(const OwnArrays&) = delete;
  OwnArrays& operator=(const OwnArrays&) = delete;
  ~OwnArrays() {
    for (int i = 0; i < count_; ++i) std::free(arrays_[i]);
  }

  IntArray copy(const IntArray& array, int length) noexcept {
    const std::size_t each = array.wide ? sizeof(std::int64_t) : sizeof(int);
    return {copy_bytes(array.data, std::size_t(length) * each), array.wide};
  }
  const MPI_Datatype* copy(const MPI_Datatype* array, int length) noexcept {
    return static_cast<const MPI_Datatype*>(copy_bytes(array, std::size_t(length) * sizeof *array));
  }

 private:
  static constexpr int kArraysMax = 6;  // alltoallw: counts, displacements and types, sent and received

  const void* copy_bytes(const void* from, std::size_t bytes) noexcept {
    if (!from) return nullptr;
    DUNLIN_ASSERT(count_ < kArraysMax);
    void* made = std::malloc(bytes ? bytes : 1);
    if (!made) log::die("out of memory for the arguments of a collective (%zu bytes)", bytes);
    std::memcpy(made, from, bytes);
    arrays_[count_++] = made;
    return made;
  }

  void* arrays_[kArraysMax];
  int count_ = 0;
};

}  // namespace dunlin::coll
