/* Messages that nobody receives do no harm, and are told of at the end where DUNLIN_VERBOSE asks for it.
   ranks: 2
   variants: none */
#include "check.h"

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  double data[1000] = {0};
  if (check_rank == 0) {
    MPI_Send(data, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
    MPI_Send(data, 1000, MPI_DOUBLE, 1, 8, MPI_COMM_WORLD);
  }
  return check_end();
}
