/* A rank of a real MPI program, run by real_test.py under mpirun and Hydra.  First argument: what to do. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int* nowhere;

static void abort_in_handler(int number) { MPI_Abort(MPI_COMM_WORLD, number); }

/* Messages and collectives of every size without end. */
static void traffic(int rank, int size) {
  enum { kBytesMax = 2 << 20 };
  char* const out = malloc(kBytesMax);
  char* const in = malloc(kBytesMax);
  if (!out || !in) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(out, rank, kBytesMax);
  for (int bytes = 1;; bytes = bytes * 2 < kBytesMax ? bytes * 2 : 1) {
    int sum;
    MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + 1) % size, 1, in, bytes, MPI_BYTE, (rank + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&bytes, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(in, bytes, MPI_BYTE, bytes % size, MPI_COMM_WORLD);
    MPI_Alltoall(out, bytes / size, MPI_BYTE, in, bytes / size, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Iallreduce(out, in, bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "sum";
  const int code = argc > 2 ? atoi(argv[2]) : 0;
  int rank, size, sum = -1, pause;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_chosen = rank == size - 1;
  if (!strcmp(what, "abort") && is_chosen) MPI_Abort(MPI_COMM_WORLD, code);
  if (!strcmp(what, "unsupported")) { /* and a program that looks at no return code */
    MPI_Comm accepted = MPI_COMM_NULL;
    MPI_Comm joined = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; ++i) MPI_Comm_accept("x", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &accepted);
    MPI_Comm_join(0, &joined);
    printf("all data written\n");
    MPI_Finalize();
    return 0;
  }
  if (!strcmp(what, "held-abort") || !strcmp(what, "held-error") || !strcmp(what, "held-handler")) {
    printf("held by rank %d", rank); /* no line end: the C library keeps it */
    MPI_Barrier(MPI_COMM_WORLD);
    signal(SIGUSR2, abort_in_handler);
    if (!strcmp(what, "held-handler") && is_chosen) raise(SIGUSR2);
    if (!strcmp(what, "held-error") && is_chosen) MPI_Send(&rank, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (!strcmp(what, "held-abort") && is_chosen) MPI_Abort(MPI_COMM_WORLD, 7);
  }
  if (!strcmp(what, "traffic")) traffic(rank, size);
  if (!strcmp(what, "exit") && is_chosen) return code;
  if (!strcmp(what, "kill") && is_chosen) raise(SIGKILL);
  if (!strcmp(what, "crash") && is_chosen) raise(SIGSEGV);
  if (!strcmp(what, "assertion") && is_chosen) abort();
  if (!strcmp(what, "null") && is_chosen) *nowhere = 1;
  if (!strcmp(what, "wild") && is_chosen) MPI_Send((void*)16, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (!strcmp(what, "error") && is_chosen) MPI_Send(&rank, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
  if (!strcmp(what, "child") && rank == 0) {
    char command[4096];
    snprintf(command, sizeof command, "exec '%s' sum", argv[0]);
    if (system(command) != 0) return 9;
  }
  if (!strcmp(what, "fork") && is_chosen) { /* a child that takes itself for the rank */
    const pid_t child = fork();
    if (child == 0) MPI_Barrier(MPI_COMM_WORLD);
    waitpid(child, NULL, 0);
  }
  if (!strcmp(what, "fork-put")) { /* one that does not have the window's memory */
    long* memory;
    const long one = 1;
    MPI_Win win;
    MPI_Win_allocate(sizeof one, sizeof one, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    const pid_t child = is_chosen ? fork() : 1;
    if (child == 0) MPI_Put(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
    if (is_chosen) waitpid(child, NULL, 0);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
  if (!strcmp(what, "fork-exit")) { /* one that ends like a program that cleans up with care */
    int is_finalized, status;
    const pid_t child = fork();
    if (child == 0) {
      MPI_Finalized(&is_finalized);
      if (!is_finalized) MPI_Finalize();
      exit(0);
    }
    waitpid(child, &status, 0);
    what = "sum";
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
