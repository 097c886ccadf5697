/* Sums of floating-point numbers of very different size depend on the order of the additions.  The same call
 * with the same data gives the same bits every time, however late which rank comes, and all ranks get the
 * same bits from MPI_Allreduce (MPI 5.0, 6.9.1, advice to implementors). */
#include <math.h>
#include <time.h>

#include "coll_check.h"

enum { COUNT_MAX = 40000, ROUNDS = 9 };

static double mine[COUNT_MAX], first[COUNT_MAX], now[COUNT_MAX], of_rank_0[COUNT_MAX];

/* Terms that cancel, and small ones that get lost beside large ones. */
static void fill(int count) {
  for (int i = 0; i < count; ++i) {
    const double small = 1.0 / (3 + i % 97 + check_rank * 7);
    mine[i] = check_rank % 3 == 0 ? small : check_rank % 3 == 1 ? 1e16 + small : -1e16 + small;
  }
}

/* Another rank is late every time. */
static void be_late(int round) {
  const struct timespec nap = {0, 300000};
  if (round % (check_size + 1) == check_rank) nanosleep(&nap, NULL);
}

static void check_same(int round, int count, const char* what) {
  const size_t bytes = sizeof(double) * (size_t)count;
  if (round == 0) memcpy(first, now, bytes);
  CHECK(memcmp(first, now, bytes) == 0, "%s of %d, round %d", what, count, round);
}

static void check_allreduce(int mode, int count) {
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Request request;
    be_late(round);
    if (mode == NOW) MPI_Allreduce(mine, now, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (mode == LATER) MPI_Iallreduce(mine, now, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    if (mode == AGAIN)
      MPI_Allreduce_init(mine, now, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    finish(mode, &request);
    check_same(round, count, "allreduce");
    memcpy(of_rank_0, now, sizeof(double) * (size_t)count);
    MPI_Bcast(of_rank_0, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    CHECK(memcmp(of_rank_0, now, sizeof(double) * (size_t)count) == 0, "%d elements, unlike rank 0", count);
  }
}

static void check_reduce(int count) {
  const int root = check_size - 1;
  for (int round = 0; round < ROUNDS; ++round) {
    be_late(round);
    MPI_Reduce(mine, now, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    if (check_rank == root) check_same(round, count, "reduce");
  }
}

/* What commutes as numbers need not do so as bits: the lesser of 0 and -0, or of a number and a NaN, is the
 * one on the left.  A rank's eighth communicator goes by messages. */
static void check_odd_numbers(void) {
  enum { COMMS = 9, COUNT = 7 };
  const double odd[COUNT] = {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY, 1.0};
  const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  MPI_Comm comms[COMMS];
  for (int i = 0; i < COUNT; ++i) mine[i] = odd[(i * (check_rank + 1) + check_rank) % COUNT];
  for (int i = 0; i < COMMS; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < COMMS; ++i)
    for (int op = 0; op < 4; ++op) {
      MPI_Allreduce(mine, now, COUNT, MPI_DOUBLE, ops[op], comms[i]);
      memcpy(of_rank_0, now, COUNT * sizeof(double));
      MPI_Bcast(of_rank_0, COUNT, MPI_DOUBLE, 0, comms[i]);
      for (int k = 0; k < COUNT; ++k)
        CHECK(memcmp(&of_rank_0[k], &now[k], sizeof(double)) == 0,
              "operator %d, communicator %d: %g, rank 0 has %g", op, i, now[k], of_rank_0[k]);
    }
  for (int i = 0; i < COMMS; ++i) MPI_Comm_free(&comms[i]);
}

int main(int argc, char** argv) {
  const int counts[] = {0, 1, 3, 64, 1000, COUNT_MAX};
  check_start(&argc, &argv);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    fill(counts[i]);
    for (int mode = NOW; mode < MODES; ++mode) check_allreduce(mode, counts[i]);
    check_reduce(counts[i]);
  }
  check_odd_numbers();
  return check_end();
}
