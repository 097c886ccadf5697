#include <mpi.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "object/functions.hpp"

namespace dunlin::object {

// The name of this machine as the kernel knows it; nothing is looked up, so that it needs no name service.
Err get_processor_name(char* name, int* length) noexcept {
  if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0)
    std::snprintf(name, MPI_MAX_PROCESSOR_NAME, "localhost");
  name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
  *length = int(std::strlen(name));
  return Err::ok;
}

Err get_version(int* version, int* subversion) noexcept {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return Err::ok;
}

Err get_library_version(char* version, int* length) noexcept {
  *length =
      std::snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Dunlin 0.1.0 (MPI %d.%d, standard ABI %d.%d)",
                    MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
  return Err::ok;
}

double wtime() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

double wtick() noexcept {
  timespec resolution;
  clock_getres(CLOCK_MONOTONIC, &resolution);
  return double(resolution.tv_sec) + double(resolution.tv_nsec) * 1e-9;
}

}  // namespace dunlin::object
