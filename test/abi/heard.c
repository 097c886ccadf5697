/* Whose error handler hears of errors that belong to no communicator (MPI 5.0, 9.3): that of MPI_COMM_SELF,
 * and where it was never set that of MPI_COMM_WORLD, as before MPI 4.  Run with errors that return at the
 * start, so that "set to what it was" can be told from "never set". */
#include <mpi.h>
#include <stdio.h>

static int by_world, by_self;

static void hear(MPI_Comm* comm, int* code, ...) {
  (void)code;
  if (*comm == MPI_COMM_WORLD) ++by_world;
  if (*comm == MPI_COMM_SELF) ++by_self;
}

/* A wrong argument of a call without communicator; whether so many calls of each handler have come by now. */
static int is_heard(const char* when, int world, int self) {
  MPI_Datatype type;
  const int code = MPI_Type_contiguous(-1, MPI_INT, &type);
  if (code == MPI_ERR_COUNT && by_world == world && by_self == self) return 1;
  printf("%s: code %d, %d by world, %d by self\n", when, code, by_world, by_self);
  return 0;
}

int main(int argc, char** argv) {
  int is_right;
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_create_errhandler(hear, &handler);
  is_right = is_heard("neither set", 0, 0);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  is_right &= is_heard("world's set", 1, 0);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  is_right &= is_heard("self's set to what it was", 1, 0);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  is_right &= is_heard("self's set", 1, 1);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return !is_right;
}
