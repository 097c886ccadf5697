/* Loads two libraries of Fortran code by themselves, as Python does with its modules: MPI_IN_PLACE is the
   same in both, and in libmpifort_abi.
     load_local LIBRARY LIBRARY */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int size = 0, wrong = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i < argc; i++) {
    void* library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    void (*sum)(int*) = library ? (void (*)(int*))dlsym(library, "local_sum_") : NULL;
    int value = 1;
    if (sum) sum(&value);
    if (!sum || value != size) {
      printf("%s: the sum is %d, not %d%s%s\n", argv[i], value, size, sum ? "" : ": ", sum ? "" : dlerror());
      wrong = 1;
    }
  }
  MPI_Finalize();
  return wrong;
}
