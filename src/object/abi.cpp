// What the standard ABI lets a program ask (MPI 5.0, chapter 20); for Fortran see datatype/fortran.cpp.
#include <mpi.h>

#include <string>

#include "object/functions.hpp"

namespace dunlin::object {
Err abi_get_version(int* major, int* minor) noexcept {
  *major = MPI_ABI_VERSION;
  *minor = MPI_ABI_SUBVERSION;
  return Err::ok;
}

Err abi_get_info(Info** info) noexcept {
  *info = new Info;
  (*info)->set("mpi_aint_size", std::to_string(sizeof(MPI_Aint)));
  (*info)->set("mpi_count_size", std::to_string(sizeof(MPI_Count)));
  (*info)->set("mpi_offset_size", std::to_string(sizeof(MPI_Offset)));
  return Err::ok;
}

}  // namespace dunlin::object
