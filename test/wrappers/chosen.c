/* One call of each collective that chooses among algorithms, in functions of their own, between which
 * callgrind writes down what was passed (chosen.py).  The argument: bytes of a rank's block or operand. */
#include <mpi.h>
#include <stdlib.h>

static int bytes, ranks;
static char *mine, *all, *given;

__attribute__((noinline)) void end_of_call(void) { __asm__ volatile("" ::: "memory"); }

#define ASKED(call, ...)                                \
  __attribute__((noinline)) void asked_##call(void) {   \
    __VA_ARGS__;                                        \
    __asm__ volatile("" ::: "memory"); /* no jump */    \
  }
ASKED(barrier, MPI_Barrier(MPI_COMM_WORLD))
ASKED(bcast, MPI_Bcast(mine, bytes, MPI_BYTE, 0, MPI_COMM_WORLD))
ASKED(gather, MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, MPI_COMM_WORLD))
ASKED(scatter, MPI_Scatter(all, bytes, MPI_BYTE, mine, bytes, MPI_BYTE, 0, MPI_COMM_WORLD))
ASKED(allgather, MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD))
ASKED(alltoall, MPI_Alltoall(given, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD))
ASKED(reduce, MPI_Reduce(mine, all, bytes, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD))
ASKED(allreduce, MPI_Allreduce(mine, all, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD))
ASKED(scan, MPI_Scan(mine, all, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD))
ASKED(reduce_scatter, MPI_Reduce_scatter_block(all, mine, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD))

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bytes = argc > 1 ? atoi(argv[1]) : 0;
  mine = calloc((size_t)bytes + 1, 1);
  all = calloc((size_t)ranks * (size_t)bytes + 1, 1);
  given = calloc((size_t)ranks * (size_t)bytes + 1, 1);
  void (*const calls[])(void) = {asked_barrier,   asked_bcast,    asked_gather, asked_scatter,
                                 asked_allgather, asked_alltoall, asked_reduce, asked_allreduce,
                                 asked_scan,      asked_reduce_scatter};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    calls[i]();
    end_of_call();
  }
  free(given);
  free(all);
  free(mine);
  MPI_Finalize();
  return 0;
}
