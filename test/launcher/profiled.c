// What profile_test.py counts: every rank sends two long messages to the next, one to a receive that is
// posted and one that comes before its receive, and a short one; all but rank 0 send two short ones to rank
// 0, which sends to nobody meanwhile.  With an argument: wrong calls, each of which is one error.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int errors;
static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++errors;
}

static void call_wrongly(void) {
  enum { LONG_BYTES = 100000 };
  static char buffer[LONG_BYTES];
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  int size;
  MPI_Comm_size(comm, &size);
  MPI_Send(buffer, 1, MPI_DATATYPE_NULL, 0, 0, comm);
  MPI_Recv(buffer, LONG_BYTES, MPI_DATATYPE_NULL, 0, 0, comm, MPI_STATUS_IGNORE);
  MPI_Recv(buffer, LONG_BYTES, MPI_BYTE, size, 0, comm, MPI_STATUS_IGNORE);
  MPI_Recv(buffer, LONG_BYTES, MPI_BYTE, 0, -5, comm, MPI_STATUS_IGNORE);
  printf("%d errors\n", errors);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  enum { SHORT_BYTES = 1000, LONG_BYTES = 100000 };
  int rank, size;
  MPI_Init(&argc, &argv);
  if (argc > 1) {
    call_wrongly();
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  char* const out = calloc(1, LONG_BYTES);
  char* const in = calloc(1, LONG_BYTES);
  MPI_Request requests[2];
  MPI_Irecv(in, LONG_BYTES, MPI_BYTE, last, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Isend(out, LONG_BYTES / 4, MPI_INT32_T, next, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Isend(out, LONG_BYTES / 4, MPI_INT32_T, next, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Sendrecv(out, SHORT_BYTES, MPI_BYTE, next, 2, in, SHORT_BYTES, MPI_BYTE, last, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);  // behind the long one
  MPI_Recv(in, LONG_BYTES, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  for (int i = 0; i < 2; ++i) {
    MPI_Send(out, SHORT_BYTES, MPI_BYTE, rank == 0 ? MPI_PROC_NULL : 0, 3, MPI_COMM_WORLD);
  }
  for (int i = 2; rank == 0 && i < 2 * size; ++i)
    MPI_Recv(in, SHORT_BYTES, MPI_BYTE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
