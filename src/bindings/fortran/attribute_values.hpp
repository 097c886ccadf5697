// Values of attributes between C and Fortran (MPI 5.0, 19.3.7): what Fortran sets is an integer, what C sets
// is a pointer.  C sees the address of Fortran's integer, and Fortran sees C's pointer as an integer.
// Used by arguments.cpp, callbacks.cpp and the generated files.
//
// Each different integer gets one place for good: attributes are copied by C's own functions too, so nobody
// knows which of them is the last one with that address.
//
// Thread safety: all functions may be called by several threads.
#pragma once

#include <mpi.h>

namespace dunlin::fortran {

/// What C stores: the address of an integer with that value.
void* boxed(MPI_Aint value) noexcept;
inline void* boxed(const MPI_Aint* value) noexcept { return boxed(*value); }

/// What Fortran sees of a pointer that C has stored.
MPI_Aint value_of_attribute(void* stored) noexcept;

}  // namespace dunlin::fortran
