/* A profiling library may define MPI_ names itself and call the PMPI_ ones: the library's MPI_ names are
 * weak. */
#include <mpi.h>

static int seen;

int MPI_Abi_get_version(int* major, int* minor) {
  ++seen;
  return PMPI_Abi_get_version(major, minor);
}

int main(void) {
  int major = 0, minor = 0;
  if (MPI_Abi_get_version(&major, &minor) != MPI_SUCCESS) return 1;
  return seen != 1 || major != MPI_ABI_VERSION || minor != MPI_ABI_SUBVERSION;
}
