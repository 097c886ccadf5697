/* A gather whose root expects more of the other ranks than they give: between nodes they take different
 * algorithms, and the standard calls it erroneous.  zoo_test.py looks at what is said. */
#include <mpi.h>

int main(int argc, char** argv) {
  enum { FEW = 8, MANY = 9000, RANKS = 4 };
  static int in[MANY], out[RANKS * MANY];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = rank == 0 ? MANY : FEW;
  MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
