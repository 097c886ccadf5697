// Two mistakes that every MPI programmer makes once, to see what the library says: part of `make run`.
//
//   mpirun -n 2 mistakes argument    a message to a rank that does not exist
//   mpirun -n 2 mistakes deadlock    two ranks that both receive first
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, size, value = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "argument") == 0) {
    if (rank == 0) MPI_Send(&value, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (argc > 1 && strcmp(argv[1], "deadlock") == 0) {
    const int other = (rank + 1) % size;
    MPI_Recv(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
  } else if (rank == 0) {
    fprintf(stderr, "usage: mistakes argument|deadlock\n");
  }
  MPI_Finalize();
  return 0;
}
