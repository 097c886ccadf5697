#include <mpi.h>

#include <cstring>

#include "object/functions.hpp"

namespace dunlin::object {

namespace {

// Names that are too long are cut, as the standard allows (MPI 5.0, 7.8).
template <std::size_t kBytes>
Err set_name(char (&place)[kBytes], const char* name) noexcept {
  static_assert(kBytes == MPI_MAX_OBJECT_NAME);
  const std::size_t bytes = strnlen(name, kBytes - 1);
  std::memmove(place, name, bytes);
  place[bytes] = '\0';
  return Err::ok;
}

Err get_name(const char* place, char* name, int* length) noexcept {
  const std::size_t bytes = std::strlen(place);
  std::memcpy(name, place, bytes + 1);
  *length = int(bytes);
  return Err::ok;
}

}  // namespace

Err comm_set_name(Comm& comm, const char* name) noexcept { return set_name(comm.name, name); }
Err comm_get_name(Comm& comm, char* name, int* length) noexcept { return get_name(comm.name, name, length); }
Err win_set_name(Win& win, const char* name) noexcept { return set_name(win.name, name); }
Err win_get_name(Win& win, char* name, int* length) noexcept { return get_name(win.name, name, length); }

}  // namespace dunlin::object
