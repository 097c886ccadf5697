/* Ranks in C of a job whose others are in Fortran (with_others.f90): Fortran's types mean the same. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int size, one = 1, sum = 0, yes = 1, all = 0;
  struct {
    double value;
    int id;
  } message = {0, 0};
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&yes, &all, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD);
  MPI_Bcast(&message, 1, MPI_DOUBLE_INT, size - 1, MPI_COMM_WORLD);
  MPI_Finalize();
  if (sum == size && all == 1 && message.value == 1.5 && message.id == size - 1) return 0;
  printf("wrong: sum %d of %d, all %d, message %g %d\n", sum, size, all, message.value, message.id);
  return 1;
}
