// Addresses that stand for something: MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE ...
// Used by arguments.hpp.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace dunlin::fortran {

/// An INTEGER, and a LOGICAL: of 4 bytes, or of 8 where a program is compiled with -fdefault-integer-8.
using Fint = DUNLIN_FORTRAN_INTEGER;

/// The COMMON block of mpif.h and of both modules.
struct SpecialAddresses {
  Fint bottom, in_place, buffer_automatic, unweighted, weights_empty, errcodes_ignore;
  Fint status_ignore[MPI_F_STATUS_SIZE], statuses_ignore[MPI_F_STATUS_SIZE];
  char argv_null, argvs_null;
};
extern "C" {
/// `inline`, so that GCC makes it a unique symbol: one in the process, however libraries are loaded. Programs
/// and libraries that mpifort links get this definition too, in the place of their COMMON block.
[[gnu::visibility("default"), gnu::used]] alignas(32) inline SpecialAddresses mpi_fortran_special_;
}

inline bool is_special(const void* address) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(&mpi_fortran_special_);
  return reinterpret_cast<std::uintptr_t>(address) - start < sizeof(SpecialAddresses);
}
/// What C calls the same: MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE ...
void* meaning_of(const void* special_address) noexcept;

template <class T>
inline T* address(T* given) noexcept {
  if (is_special(given)) [[unlikely]]
    return static_cast<T*>(meaning_of(given));
  return given;
}

}  // namespace dunlin::fortran
