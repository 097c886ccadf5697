// Tells the C library how Fortran represents its types (MPI 5.0, 20, "Fortran Type Registration"): when this
// library is loaded, or after MPI_INIT where the C library is another one, because MPICH 5.0 ends a process
// that asks or tells it before.  Types with a length in their name follow the compiler: gfortran and flang
// have no REAL*2, and a REAL*16 where C has a type of 128 bits.
#include <cstring>
#include <string>

#include "bindings/fortran/arguments.hpp"

namespace {

void set(MPI_Info info, const std::string& key, const char* value) noexcept {
  PMPI_Info_set(info, key.c_str(), value);
}

MPI_Info made_info() noexcept {
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Info_create(&info) != MPI_SUCCESS) return info;
  const std::string integer_size = std::to_string(sizeof(dunlin::fortran::Fint));
  set(info, "mpi_logical_size", integer_size.c_str());
  set(info, "mpi_integer_size", integer_size.c_str());
  set(info, "mpi_real_size", "4");
  set(info, "mpi_double_precision_size", "8");
  for (const char* type : {"logical", "integer"})
    for (const char* bytes : {"1", "2", "4", "8", "16"})
      set(info, "mpi_" + std::string(type) + bytes + "_supported", "true");
  for (const char* bytes : {"4", "8", "16"})
    set(info, "mpi_real" + std::string(bytes) + "_supported", "true");
  for (const char* bytes : {"8", "16", "32"})
    set(info, "mpi_complex" + std::string(bytes) + "_supported", "true");
  set(info, "mpi_real2_supported", "false");
  set(info, "mpi_complex4_supported", "false");
  set(info, "mpi_double_complex_supported", "true");
  return info;
}

/// Tells what the C library does not know yet: MPICH knows all, and takes it as an error to be told.
bool register_types() noexcept {
  dunlin::fortran::Fint is_true = 1, is_false = 0, known_true, known_false;
  int is_known = 0;
  PMPI_Abi_get_fortran_booleans(int(sizeof is_true), &known_true, &known_false, &is_known);
  if (!is_known) PMPI_Abi_set_fortran_booleans(int(sizeof is_true), &is_true, &is_false);

  MPI_Info info = MPI_INFO_NULL;
  PMPI_Abi_get_fortran_info(&info);
  is_known = info != MPI_INFO_NULL;
  if (!is_known) info = made_info();
  if ((is_known || PMPI_Abi_set_fortran_info(info) != MPI_SUCCESS) && dunlin::fortran::kIsWide) {
    std::fprintf(
        stderr,
        "Dunlin: libmpifort_abi_integer8 was loaded after MPI_Init or beside libmpifort_abi, so that "
        "MPI_INTEGER has 4 bytes; build all parts of the program with -fdefault-integer-8\n");
    std::abort();
  }
  if (info != MPI_INFO_NULL) PMPI_Info_free(&info);
  return true;
}

bool can_register() noexcept {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0, is_initialized = 0;
  PMPI_Get_library_version(version, &length);
  PMPI_Initialized(&is_initialized);
  return is_initialized || std::strstr(version, "Dunlin");
}

[[gnu::constructor]] void register_early() noexcept {
  if (can_register()) dunlin::fortran::register_types_once();
}

}  // namespace

void dunlin::fortran::register_types_once() noexcept {
  [[maybe_unused]] static const bool is_done = register_types();
}
