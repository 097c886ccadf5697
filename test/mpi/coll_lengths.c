/* One rank gives a block of another length than its receiver expects, among blocks about whose lengths all
 * agree.  Who receives it has an error, every call ends, all other blocks are there, and the communicator
 * goes on.  ranks: 2 3 4 variants: none */
#include "coll_check.h"

enum { LONG = 100000, LESS = LONG - 4, SHORT = 8, CALLS = 9, VARIED = 5 };

static const char* const names[CALLS] = {
    "gatherv", "scatterv", "alltoallv", "alltoallw", "neighbor_alltoallv", "bcast", "allreduce", "scan",
    "reduce_scatter_block"};

static int gives[4], gets[4], places[4]; /* bytes by rank, and where each block lies */
static MPI_Datatype types[4];
static MPI_Comm neighbors; /* all ranks, in their order */

static int call_varied(int which, int mode, const char* out, char* in) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const MPI_Datatype type = MPI_CHAR;
  MPI_Request request;
  int error;
#define EITHER(now, later) (mode == NOW ? (now) : (later))
  switch (which) {
    case 0:
      out += places[0];
      error = EITHER(MPI_Gatherv(out, gives[0], type, in, gets, places, type, 0, comm),
                     MPI_Igatherv(out, gives[0], type, in, gets, places, type, 0, comm, &request));
      break;
    case 1:
      error = EITHER(MPI_Scatterv(out, gives, places, type, in, gets[0], type, 0, comm),
                     MPI_Iscatterv(out, gives, places, type, in, gets[0], type, 0, comm, &request));
      break;
    case 2:
      error = EITHER(MPI_Alltoallv(out, gives, places, type, in, gets, places, type, comm),
                     MPI_Ialltoallv(out, gives, places, type, in, gets, places, type, comm, &request));
      break;
    case 3:
      error = EITHER(MPI_Alltoallw(out, gives, places, types, in, gets, places, types, comm),
                     MPI_Ialltoallw(out, gives, places, types, in, gets, places, types, comm, &request));
      break;
    default:
      error = EITHER(
          MPI_Neighbor_alltoallv(out, gives, places, type, in, gets, places, type, neighbors),
          MPI_Ineighbor_alltoallv(out, gives, places, type, in, gets, places, type, neighbors, &request));
  }
  return mode == NOW || error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int call(int which, int mode, char* out, char* in, int n) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request request;
  int error;
  switch (which) {
    case 5:
      in = check_rank == 0 ? out : in;
      error = EITHER(MPI_Bcast(in, n, MPI_CHAR, 0, comm), MPI_Ibcast(in, n, MPI_CHAR, 0, comm, &request));
      break;
    case 6:
      error = EITHER(MPI_Allreduce(out, in, n, MPI_BYTE, MPI_BOR, comm),
                     MPI_Iallreduce(out, in, n, MPI_BYTE, MPI_BOR, comm, &request));
      break;
    case 7:
      error = EITHER(MPI_Scan(out, in, n, MPI_BYTE, MPI_BOR, comm),
                     MPI_Iscan(out, in, n, MPI_BYTE, MPI_BOR, comm, &request));
      break;
    default:
      error = EITHER(MPI_Reduce_scatter_block(out, in, n, MPI_BYTE, MPI_BOR, comm),
                     MPI_Ireduce_scatter_block(out, in, n, MPI_BYTE, MPI_BOR, comm, &request));
  }
  return mode == NOW || error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void expect_that_it_goes_on(const char* name) {
  for (int i = 0; i < 5; ++i) {
    int sum = -1;
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == i * check_size, "after a %s with an error: %d", name, sum);
  }
}

/* `from` gives `given` bytes to `to`, which expects `expected`; all other blocks have `others`. */
static void varied(int which, int mode, int from, int to, int given, int expected, int others) {
  const size_t room = (size_t)LONG * (size_t)check_size;
  char *const out = malloc(room), *const in = malloc(room);
  memset(out, check_rank + 1, room), memset(in, 0, room);
  for (int rank = 0; rank < check_size; ++rank) {
    gives[rank] = check_rank == from && (rank == to || which == 0) ? given : others;
    gets[rank] = check_rank == to && (rank == from || which == 1) ? expected : others;
  }
  const int error = call_varied(which, mode, out, in);
  CHECK((error != MPI_SUCCESS) == (check_rank == to), "%s from %d to %d of %d bytes in place of %d: %s",
        names[which], from, to, given, expected, error != MPI_SUCCESS ? "an error" : "no error");
  for (int rank = 0; rank < check_size; ++rank) {
    if (which == 0 && check_rank != 0) break; /* nothing comes here */
    if (which == 1 && rank != 0) break;       /* nor from there */
    if (check_rank == to && rank == from) continue;
    const char* const block = in + (which == 1 ? 0 : places[rank]);
    CHECK(block[0] == rank + 1 && block[others - 1] == rank + 1, "%s: the block of rank %d", names[which],
          rank);
  }
  expect_that_it_goes_on(names[which]);
  free(out), free(in);
}

static void equal(int which, int mode, int odd_rank, int odd, int others) {
  const size_t room = (size_t)LONG * (size_t)check_size;
  char *const out = calloc(room, 1), *const in = calloc(room, 1);
  const int mine = call(which, mode, out, in, check_rank == odd_rank ? odd : others) != MPI_SUCCESS;
  int errors = 0;
  MPI_Allreduce(&mine, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(errors > 0, "%s, rank %d has another length: no error", names[which], odd_rank);
  expect_that_it_goes_on(names[which]);
  free(out), free(in);
}

int main(int argc, char** argv) {
  static const int lengths[][3] = {{LONG, LESS, LONG},   {LESS, LONG, LONG},  {SHORT, LONG, LONG},
                                   {LONG, SHORT, LONG},  {SHORT, 4, LONG},    {LONG, SHORT, SHORT},
                                   {SHORT, LONG, SHORT}, {SHORT, 4, SHORT}};
  check_start(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int all[4];
  for (int rank = 0; rank < check_size; ++rank) {
    all[rank] = rank;
    places[rank] = rank * LONG;
    types[rank] = MPI_CHAR;
  }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, check_size, all, MPI_UNWEIGHTED, check_size, all,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &neighbors);
  for (int mode = NOW; mode <= LATER; ++mode) {
    for (int which = 0; which < VARIED; ++which)
      for (int odd_rank = 1; odd_rank < check_size; ++odd_rank)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i)
          varied(which, mode, which == 1 ? 0 : odd_rank, which == 1 ? odd_rank : 0, lengths[i][0],
                 lengths[i][1], lengths[i][2]);
    for (int which = VARIED; which < CALLS; ++which)
      for (int odd_rank = 0; odd_rank < check_size; ++odd_rank) {
        equal(which, mode, odd_rank, LESS, LONG);
        equal(which, mode, odd_rank, LONG, LESS);
        equal(which, mode, odd_rank, SHORT - 4, SHORT);
      }
  }
  MPI_Comm_free(&neighbors);
  return check_end();
}
