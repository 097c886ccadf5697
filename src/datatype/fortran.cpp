// What a Fortran layer tells about its compiler (MPI 5.0, chapter 20): the values of a LOGICAL, and the sizes
// of the types whose size is the compiler's choice.
#include <mpi.h>

#include <cstring>

#include "datatype/functions.hpp"

namespace dunlin::datatype {
namespace {

// Told once by the Fortran layer, by MPI 5.0 before or after MPI_Init, from then on the same for the whole
// process.
struct Fortran {
  Ref<Info> info;
  int logical_size = 0;  // bytes; 0 until told
  unsigned char logical_true[16];
  unsigned char logical_false[16];
};
Fortran fortran;

bool is_logical_size(int size) noexcept {
  return size == 1 || size == 2 || size == 4 || size == 8 || size == 16;
}

}  // namespace

Err abi_get_fortran_info(Info** info) noexcept {
  *info = fortran.info ? fortran.info->copy().detach() : nullptr;
  return Err::ok;
}

Err abi_set_fortran_info(Info& info) noexcept {
  if (fortran.info) return fail(Err::abi, "the Fortran information was set before and cannot be changed");
  const auto is_wide = [&info](const char* key) { return info.find(key) && *info.find(key) == "8"; };
  if (!try_widen_fortran_types(is_wide("mpi_integer_size"), is_wide("mpi_logical_size")))
    return fail(Err::abi, "an INTEGER or LOGICAL of 8 bytes must be known before MPI_Init");
  fortran.info = info.copy();
  return Err::ok;
}

Err abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false,
                             int* is_set) noexcept {
  if (!is_logical_size(logical_size))
    return fail(Err::arg, "logical_size is %d; a Fortran LOGICAL has 1, 2, 4, 8 or 16 bytes", logical_size);
  *is_set = fortran.logical_size == logical_size;
  if (*is_set) {
    std::memcpy(logical_true, fortran.logical_true, std::size_t(logical_size));
    std::memcpy(logical_false, fortran.logical_false, std::size_t(logical_size));
  }
  return Err::ok;
}

Err abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) noexcept {
  if (!is_logical_size(logical_size))
    return fail(Err::arg, "logical_size is %d; a Fortran LOGICAL has 1, 2, 4, 8 or 16 bytes", logical_size);
  if (fortran.logical_size != 0)
    return fail(Err::abi, "the Fortran booleans were set before and cannot be changed");
  fortran.logical_size = logical_size;
  std::memcpy(fortran.logical_true, logical_true, std::size_t(logical_size));
  std::memcpy(fortran.logical_false, logical_false, std::size_t(logical_size));
  return Err::ok;
}

}  // namespace dunlin::datatype
