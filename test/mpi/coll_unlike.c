/* One rank gives a short length, or none, where the others give a long one, so that they take different ways
 * through shared memory.  Whoever receives what it does not expect has an error, nobody touches memory that
 * an earlier collective was given, and the communicator goes on.  The same where a rank gives itself another
 * length than it expects.  With an argument only lengths that take the same way between nodes and between
 * domains, where no rank sees that others take another one.  ranks: 2 3 4 variants: none */
#include <string.h>

#include "coll_check.h"

enum { LONG = 100000, SHORT = 8, CALLS = 11, TURNS = 8, OWN = 6 };

static const char* const names[CALLS] = {
    "bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce", "scan", "exscan",
    "reduce_scatter_block", "alltoall in place"};

static int call(int which, int mode, const char* out, char* in, int n) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request request;
  int error = MPI_SUCCESS;
  char* const both = which == 0 && check_rank == 0 ? (char*)out : in;
#define EITHER(now, later) (mode == NOW ? (now) : (later))
  switch (which) {
    case 0:
      error = EITHER(MPI_Bcast(both, n, MPI_CHAR, 0, comm), MPI_Ibcast(both, n, MPI_CHAR, 0, comm, &request));
      break;
    case 1:
      error = EITHER(MPI_Gather(out, n, MPI_CHAR, in, n, MPI_CHAR, 0, comm),
                     MPI_Igather(out, n, MPI_CHAR, in, n, MPI_CHAR, 0, comm, &request));
      break;
    case 2:
      error = EITHER(MPI_Scatter(out, n, MPI_CHAR, in, n, MPI_CHAR, 0, comm),
                     MPI_Iscatter(out, n, MPI_CHAR, in, n, MPI_CHAR, 0, comm, &request));
      break;
    case 3:
      error = EITHER(MPI_Allgather(out, n, MPI_CHAR, in, n, MPI_CHAR, comm),
                     MPI_Iallgather(out, n, MPI_CHAR, in, n, MPI_CHAR, comm, &request));
      break;
    case 4:
      error = EITHER(MPI_Alltoall(out, n, MPI_CHAR, in, n, MPI_CHAR, comm),
                     MPI_Ialltoall(out, n, MPI_CHAR, in, n, MPI_CHAR, comm, &request));
      break;
    case 5:
      error = EITHER(MPI_Reduce(out, in, n, MPI_BYTE, MPI_BOR, 0, comm),
                     MPI_Ireduce(out, in, n, MPI_BYTE, MPI_BOR, 0, comm, &request));
      break;
    case 6:
      error = EITHER(MPI_Allreduce(out, in, n, MPI_BYTE, MPI_BOR, comm),
                     MPI_Iallreduce(out, in, n, MPI_BYTE, MPI_BOR, comm, &request));
      break;
    case 7:
      error = EITHER(MPI_Scan(out, in, n, MPI_BYTE, MPI_BOR, comm),
                     MPI_Iscan(out, in, n, MPI_BYTE, MPI_BOR, comm, &request));
      break;
    case 8:
      error = EITHER(MPI_Exscan(out, in, n, MPI_BYTE, MPI_BOR, comm),
                     MPI_Iexscan(out, in, n, MPI_BYTE, MPI_BOR, comm, &request));
      break;
    case 9:
      error = EITHER(MPI_Reduce_scatter_block(out, in, n, MPI_BYTE, MPI_BOR, comm),
                     MPI_Ireduce_scatter_block(out, in, n, MPI_BYTE, MPI_BOR, comm, &request));
      break;
    default:
      error = EITHER(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_CHAR, in, n, MPI_CHAR, comm),
                     MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_CHAR, in, n, MPI_CHAR, comm, &request));
  }
  return mode == NOW || error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void expect_untouched(const char* memory, char value, const char* which) {
  for (size_t i = 0; i < (size_t)LONG * (size_t)check_size; ++i)
    if (memory[i] != value) {
      CHECK(0, "%s: byte %zu of another collective's buffer has changed", which, i);
      return;
    }
}

static void expect_that_it_goes_on(const char* which) {
  for (int i = 0; i < 5; ++i) {
    int sum = -1;
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == i * check_size, "after a %s with an error: %d", which, sum);
    for (int root = 0; root < check_size; ++root) {
      int number = check_rank == root ? 100 * i + root : -1;
      MPI_Bcast(&number, 1, MPI_INT, root, MPI_COMM_WORLD);
      CHECK(number == 100 * i + root, "after a %s with an error: %d from rank %d", which, number, root);
    }
  }
}

/* Right ones first, in the memory of all turns: what they leave there must mean nothing any more. */
static void unlike(int which, int mode, int odd_rank, int odd, int others) {
  const size_t bytes = (size_t)LONG * (size_t)check_size;
  char *const old_out = malloc(bytes), *const old_in = malloc(bytes), *const out = malloc(bytes),
             *const in = malloc(bytes);
  memset(old_out, 1, bytes), memset(out, 2, bytes), memset(old_in, 3, bytes), memset(in, 4, bytes);
  for (int i = 0; i < TURNS; ++i)
    CHECK(call(which, mode, old_out, old_in, LONG) == MPI_SUCCESS, "%s", names[which]);
  memset(old_out, 'o', bytes), memset(old_in, 'i', bytes);
  MPI_Barrier(MPI_COMM_SELF);
  const int mine = call(which, mode, out, in, check_rank == odd_rank ? odd : others) != MPI_SUCCESS;
  int errors = 0;
  MPI_Allreduce(&mine, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(errors > 0, "%s, rank %d has another length: no error", names[which], odd_rank);
  expect_that_it_goes_on(names[which]);
  expect_untouched(old_out, 'o', names[which]);
  expect_untouched(old_in, 'i', names[which]);
  free(old_out), free(old_in), free(out), free(in);
}

/* `odd_rank` gives itself 4 bytes of the 8 that it expects of each. */
static int call_own(int which, int is_odd, const char* out, char* in, int root) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int given = is_odd ? SHORT / 2 : SHORT;
  int all[4], mine[4], places[4];
  for (int rank = 0; rank < check_size; ++rank) {
    places[rank] = rank * SHORT;
    all[rank] = SHORT;
    mine[rank] = rank == check_rank ? given : SHORT;
  }
  switch (which) {
    case 0:
      return MPI_Gather(out, given, MPI_CHAR, in, SHORT, MPI_CHAR, root, comm);
    case 1:
      return MPI_Scatterv(out, mine, places, MPI_CHAR, in, SHORT, MPI_CHAR, root, comm);
    case 2:
      return MPI_Allgather(out, given, MPI_CHAR, in, SHORT, MPI_CHAR, comm);
    case 3:
      return MPI_Allgatherv(out, given, MPI_CHAR, in, all, places, MPI_CHAR, comm);
    case 4:
      return MPI_Alltoall(out, given, MPI_CHAR, in, SHORT, MPI_CHAR, comm);
    default:
      return MPI_Alltoallv(out, mine, places, MPI_CHAR, in, all, places, MPI_CHAR, comm);
  }
}

/* Where others pass on what came too short, only who received that has an error (`are_apart`). */
static void own(int which, int odd_rank, int are_apart) {
  static const char* const calls[OWN] = {"gather",     "scatterv", "allgather",
                                         "allgatherv", "alltoall", "alltoallv"};
  char out[4 * SHORT], in[4 * SHORT];
  memset(out, check_rank + 1, sizeof out), memset(in, 0, sizeof in);
  const int error = call_own(which, check_rank == odd_rank, out, in, odd_rank);
  const int has_data = which == 1 || which == 5 || (which == 0 && check_rank == odd_rank);
  CHECK(check_rank != odd_rank || error != MPI_SUCCESS, "%s: no error", calls[which]);
  for (int rank = 0; rank < check_size && has_data; ++rank) {
    if (rank == check_rank || (which == 1 && rank != odd_rank)) continue;
    const char value = in[which == 1 ? 0 : rank * SHORT + SHORT - 1];
    CHECK(value == rank + 1, "%s, rank %d gives itself another length: %d from rank %d", calls[which],
          odd_rank, value, rank);
    CHECK(check_rank == odd_rank || error == MPI_SUCCESS, "%s: an error", calls[which]);
  }
  const int has_all = (which == 2 || which == 3) && error == MPI_SUCCESS && !are_apart;
  for (int rank = 0; rank < check_size && has_all; ++rank)
    CHECK(in[rank * SHORT] == rank + 1, "%s: %d from rank %d and no error", calls[which], in[rank * SHORT],
          rank);
  expect_that_it_goes_on(calls[which]);
}

int main(int argc, char** argv) {
  const int are_apart = argc > 1;
  check_start(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int which = 0; which < CALLS; ++which)
    for (int mode = NOW; mode <= LATER; ++mode)
      for (int odd_rank = 0; odd_rank < check_size; ++odd_rank) {
        if (!are_apart) {
          unlike(which, mode, odd_rank, SHORT, LONG);
          unlike(which, mode, odd_rank, LONG, SHORT);
          unlike(which, mode, odd_rank, 0, LONG);
        }
        unlike(which, mode, odd_rank, LONG - 4, LONG);
        unlike(which, mode, odd_rank, 0, SHORT);
        unlike(which, mode, odd_rank, SHORT, 0);
      }
  for (int which = 0; which < OWN; ++which)
    for (int odd_rank = 0; odd_rank < check_size; ++odd_rank) own(which, odd_rank, are_apart);
  return check_end();
}
