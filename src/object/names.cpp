#include <mpi.h>

#include <cstring>

#include "object/functions.hpp"

namespace dunlin::object {

// Names that are too long are cut, as the standard allows (MPI 5.0, 7.8).
Err comm_set_name(Comm& comm, const char* name) noexcept {
  static_assert(sizeof comm.name == MPI_MAX_OBJECT_NAME);
  const std::size_t bytes = strnlen(name, sizeof comm.name - 1);
  std::memmove(comm.name, name, bytes);
  comm.name[bytes] = '\0';
  return Err::ok;
}

Err comm_get_name(Comm& comm, char* name, int* length) noexcept {
  const std::size_t bytes = std::strlen(comm.name);
  std::memcpy(name, comm.name, bytes + 1);
  *length = int(bytes);
  return Err::ok;
}

}  // namespace dunlin::object
