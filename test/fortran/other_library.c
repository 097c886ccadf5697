/* Preloaded, makes of Dunlin a C library that is not Dunlin and ends a process that tells it about Fortran
   before MPI_Init, as MPICH 5.0 does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PMPI_Get_library_version(char* version, int* length) {
  strcpy(version, "Another MPI");
  *length = (int)strlen(version);
  return MPI_SUCCESS;
}

int PMPI_Abi_set_fortran_info(MPI_Info info) {
  int (*set)(MPI_Info) = (int (*)(MPI_Info))dlsym(RTLD_NEXT, "PMPI_Abi_set_fortran_info");
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (!is_initialized) {
    printf("MPI_Abi_set_fortran_info was called before MPI_Init\n");
    exit(1);
  }
  return set(info);
}
