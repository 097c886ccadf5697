// A library around MPI, as many programs have one.  Opened by zoo.c by a relative path.
#include <mpi.h>

void wrapped_receive(int from, int tag) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
