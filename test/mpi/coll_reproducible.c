/* Sums of floating-point numbers of very different size depend on the order of the additions.  The same call
 * with the same data gives the same bits every time, however late which rank comes, in every calling mode,
 * and all ranks get the same bits from MPI_Allreduce (MPI 5.0, 6.9.1, advice to implementors). */
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

enum { REDUCE, ALLREDUCE, SCAN, EXSCAN, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, KINDS };
static const char* const kNames[] = {"reduce", "allreduce",      "scan",
                                     "exscan", "reduce_scatter", "reduce_scatter_block"};
static int parts[64]; /* of a reduce_scatter: as unequal as they can be */

/* Calls it (NOW), begins it (LATER) or makes it (AGAIN); the result has `count` elements at most. */
static void begin(int kind, int mode, int count, MPI_Request* request) {
  const MPI_Comm on = MPI_COMM_WORLD;
  const MPI_Info none = MPI_INFO_NULL;
  const int root = check_size - 1;
#define COMBINE(blocking, nonblocking, persistent, count_or_counts, ...)                                   \
  do {                                                                                                     \
    if (mode == NOW) blocking(mine, now, count_or_counts, MPI_DOUBLE, MPI_SUM, __VA_ARGS__);               \
    if (mode == LATER) nonblocking(mine, now, count_or_counts, MPI_DOUBLE, MPI_SUM, __VA_ARGS__, request); \
    if (mode == AGAIN)                                                                                     \
      persistent(mine, now, count_or_counts, MPI_DOUBLE, MPI_SUM, __VA_ARGS__, none, request);             \
  } while (0)
  if (kind == REDUCE) COMBINE(MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, count, root, on);
  if (kind == ALLREDUCE) COMBINE(MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, count, on);
  if (kind == SCAN) COMBINE(MPI_Scan, MPI_Iscan, MPI_Scan_init, count, on);
  if (kind == EXSCAN) COMBINE(MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, count, on);
  if (kind == REDUCE_SCATTER)
    COMBINE(MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, parts, on);
  if (kind == REDUCE_SCATTER_BLOCK)
    COMBINE(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init,
            count / check_size, on);
#undef COMBINE
}

/* How many elements of the result this rank gets. */
static int result_count(int kind, int count) {
  if (kind == REDUCE) return check_rank == check_size - 1 ? count : 0;
  if (kind == EXSCAN) return check_rank == 0 ? 0 : count;
  if (kind == REDUCE_SCATTER) return parts[check_rank];
  return kind == REDUCE_SCATTER_BLOCK ? count / check_size : count;
}

static void check_kind(int kind, int mode, int count) {
  const int got = result_count(kind, count);
  MPI_Request request = MPI_REQUEST_NULL;
  if (mode == AGAIN) begin(kind, mode, count, &request);
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < got; ++i) now[i] = -1;
    be_late(round);
    if (mode != AGAIN) begin(kind, mode, count, &request);
    if (mode == AGAIN) MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (round == 0) memcpy(first, now, sizeof(double) * (size_t)got);
    CHECK(memcmp(first, now, sizeof(double) * (size_t)got) == 0, "%s of %d, mode %d, round %d", kNames[kind],
          count, mode, round);
    if (kind != ALLREDUCE) continue;
    memcpy(of_rank_0, now, sizeof(double) * (size_t)count);
    MPI_Bcast(of_rank_0, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    CHECK(memcmp(of_rank_0, now, sizeof(double) * (size_t)count) == 0, "%d elements, unlike rank 0", count);
  }
  if (mode == AGAIN) MPI_Request_free(&request);
}

/* Every second rank gets twice the part of others, rank 0 the rest. */
static void divide(int count) {
  const int whole = count / (2 * check_size);
  parts[0] = count;
  for (int rank = 1; rank < check_size; ++rank) {
    parts[rank] = whole * (rank % 2 + 1);
    parts[0] -= parts[rank];
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
    divide(counts[i]);
    for (int mode = NOW; mode < MODES; ++mode)
      for (int kind = 0; kind < KINDS; ++kind) check_kind(kind, mode, counts[i]);
  }
  check_odd_numbers();
  return check_end();
}
