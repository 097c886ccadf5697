/* mpi.h alone, with every warning: compiled as C99, C11, C++98 and C++20. */
#include <mpi.h>
#include <mpi.h>

static void handler(MPI_Comm* comm, int* code, ...) {
  if (*comm == MPI_COMM_NULL) *code = MPI_SUCCESS;
}

int main(void) {
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Status status;
  MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;
  MPI_Comm_errhandler_function* function = handler;
  MPI_Comm_copy_attr_function* copy = MPI_COMM_DUP_FN;
  int buffer = 0;
#if MPI_VERSION < 5 || !defined(MPI_ERR_ABI) || !defined(MPI_COMM_WORLD)
#error "constants are visible to the preprocessor"
#endif
  status.MPI_ERROR = MPI_SUCCESS;
  if (function == 0 || copy == MPI_COMM_NULL_COPY_FN) return 1;
  return comm != MPI_COMM_WORLD &&
         PMPI_Recv(&buffer, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status) +
             MPI_Comm_create_errhandler(function, &errhandler);
}
