/* A rank of a real MPI program, run by real_test.py under mpirun and Hydra.  First argument: what to do. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "sum";
  const int code = argc > 2 ? atoi(argv[2]) : 0;
  int rank, size, sum = -1, pause;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_chosen = rank == size - 1;
  if (!strcmp(what, "abort") && is_chosen) MPI_Abort(MPI_COMM_WORLD, code);
  if (!strcmp(what, "exit") && is_chosen) return code;
  if (!strcmp(what, "kill") && is_chosen) raise(SIGKILL);
  if (!strcmp(what, "crash") && is_chosen) raise(SIGSEGV);
  if (!strcmp(what, "error") && is_chosen) MPI_Send(&rank, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
  if (!strcmp(what, "child") && rank == 0) {
    char command[4096];
    snprintf(command, sizeof command, "exec '%s' sum", argv[0]);
    if (system(command) != 0) return 9;
  }
  if (!strcmp(what, "sum") || !strcmp(what, "child")) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("sum %d of %d\n", sum, size);
  } else { /* the others wait for a rank that never answers */
    MPI_Recv(&pause, 1, MPI_INT, is_chosen ? MPI_ANY_SOURCE : size - 1, 99, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
