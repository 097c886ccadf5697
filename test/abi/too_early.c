/* A call before MPI_Init is told as what it is. */
#include <mpi.h>

int main(void) {
  int rank = 0;
  return MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS;
}
