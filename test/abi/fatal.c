/* An error with nobody to hear of it: one sentence names rank, call, argument and what would be right, and
 * the job ends. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank = 0, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return MPI_Finalize();
}
