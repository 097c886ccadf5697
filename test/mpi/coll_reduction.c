/* Reduce, allreduce, reduce_scatter(_block), scan, exscan: every root, several sizes, in place, blocking,
 * nonblocking and persistent, with a predefined operator, pairs, and a program's operator that does not
 * commute. */
#include <stdint.h>

#include "coll_check.h"

static const int kCounts[] = {0, 1, 7, 300, 5000};
enum { COUNTS = 5 };

/* x -> a x + b modulo 2^32, packed into 64 bits: composition keeps an order and does not commute. */
static int64_t compose(int64_t left, int64_t right) {
  const uint32_t a = (uint32_t)((uint64_t)left >> 32), b = (uint32_t)left;
  const uint32_t c = (uint32_t)((uint64_t)right >> 32), d = (uint32_t)right;
  return (int64_t)((uint64_t)(a * c) << 32 | (uint32_t)(a * d + b));
}

static int64_t add(int64_t left, int64_t right) { return left + right; }

static void compose_all(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int64_t*)inout)[i] = compose(((int64_t*)in)[i], ((int64_t*)inout)[i]);
}

typedef struct {
  MPI_Op op;
  int64_t (*combine)(int64_t, int64_t);
} Operator;

static Operator operators[2];

static int64_t operand(int rank, int i) { return (int64_t)(rank + 3) * 4294967311 + i * 7919; }

/* Of ranks 0..last. */
static int64_t reduced(Operator by, int last, int i) {
  int64_t value = operand(0, i);
  for (int rank = 1; rank <= last; ++rank) value = by.combine(value, operand(rank, i));
  return value;
}

static int64_t* operands(int count, int filled) {
  int64_t* made = malloc(((size_t)count + 1) * sizeof(int64_t));
  for (int i = 0; i < count; ++i) made[i] = filled ? operand(check_rank, i) : UNSET;
  return made;
}

static void check_reduce(int mode, int count, Operator by, int root, int in_place) {
  const int bare = in_place && check_rank == root;
  int64_t *mine = operands(count, 1), *result = operands(count, bare);
  const void* send = bare ? MPI_IN_PLACE : (void*)mine;
  void* recv = check_rank == root ? result : NULL;
  MPI_Request request;
  if (mode == NOW) MPI_Reduce(send, recv, count, MPI_INT64_T, by.op, root, MPI_COMM_WORLD);
  if (mode == LATER) MPI_Ireduce(send, recv, count, MPI_INT64_T, by.op, root, MPI_COMM_WORLD, &request);
  if (mode == AGAIN)
    MPI_Reduce_init(send, recv, count, MPI_INT64_T, by.op, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < count; ++i) {
    CHECK(mine[i] == operand(check_rank, i), "reduce changed its send buffer");
    if (check_rank == root)
      CHECK(result[i] == reduced(by, check_size - 1, i), "reduce of %d at %d: element %d", count, root, i);
  }
  free(mine);
  free(result);
}

static void check_allreduce(int mode, int count, Operator by, int in_place) {
  int64_t *mine = operands(count, 1), *result = operands(count, in_place);
  const void* send = in_place ? MPI_IN_PLACE : (void*)mine;
  MPI_Request request;
  if (mode == NOW) MPI_Allreduce(send, result, count, MPI_INT64_T, by.op, MPI_COMM_WORLD);
  if (mode == LATER) MPI_Iallreduce(send, result, count, MPI_INT64_T, by.op, MPI_COMM_WORLD, &request);
  if (mode == AGAIN)
    MPI_Allreduce_init(send, result, count, MPI_INT64_T, by.op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < count; ++i)
    CHECK(result[i] == reduced(by, check_size - 1, i), "allreduce of %d: element %d", count, i);
  free(mine);
  free(result);
}

static void check_scan(int mode, int count, Operator by, int in_place, int exclusive) {
  int64_t *mine = operands(count, 1), *result = operands(count, in_place);
  const void* send = in_place ? MPI_IN_PLACE : (void*)mine;
  const MPI_Comm on = MPI_COMM_WORLD;
  MPI_Request request;
  if (exclusive) {
    if (mode == NOW) MPI_Exscan(send, result, count, MPI_INT64_T, by.op, on);
    if (mode == LATER) MPI_Iexscan(send, result, count, MPI_INT64_T, by.op, on, &request);
    if (mode == AGAIN) MPI_Exscan_init(send, result, count, MPI_INT64_T, by.op, on, MPI_INFO_NULL, &request);
  } else {
    if (mode == NOW) MPI_Scan(send, result, count, MPI_INT64_T, by.op, on);
    if (mode == LATER) MPI_Iscan(send, result, count, MPI_INT64_T, by.op, on, &request);
    if (mode == AGAIN) MPI_Scan_init(send, result, count, MPI_INT64_T, by.op, on, MPI_INFO_NULL, &request);
  }
  finish(mode, &request);
  for (int i = 0; i < count && check_rank >= exclusive; ++i)
    CHECK(result[i] == reduced(by, check_rank - exclusive, i), "%sscan of %d: element %d",
          exclusive ? "ex" : "", count, i);
  free(mine);
  free(result);
}

static void check_reduce_scatter(int mode, int count, Operator by, int in_place) {
  const MPI_Comm on = MPI_COMM_WORLD;
  int* counts = malloc((size_t)check_size * sizeof(int));
  int total = 0, first = 0;
  MPI_Request request;
  for (int i = 0; i < check_size; ++i) {
    counts[i] = i % 3 * count + i;
    if (i < check_rank) first += counts[i];
    total += counts[i];
  }
  int64_t *mine = operands(total, 1), *result = operands(total, in_place);
  const void* send = in_place ? MPI_IN_PLACE : (void*)mine;
  if (mode == NOW) MPI_Reduce_scatter(send, result, counts, MPI_INT64_T, by.op, on);
  if (mode == LATER) MPI_Ireduce_scatter(send, result, counts, MPI_INT64_T, by.op, on, &request);
  if (mode == AGAIN)
    MPI_Reduce_scatter_init(send, result, counts, MPI_INT64_T, by.op, on, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < counts[check_rank]; ++i)
    CHECK(result[i] == reduced(by, check_size - 1, first + i), "reduce_scatter of %d: element %d", count, i);
  free(mine);
  free(result);
  free(counts);

  mine = operands(count * check_size, 1);
  result = operands(count * check_size, in_place);
  send = in_place ? MPI_IN_PLACE : (void*)mine;
  if (mode == NOW) MPI_Reduce_scatter_block(send, result, count, MPI_INT64_T, by.op, on);
  if (mode == LATER) MPI_Ireduce_scatter_block(send, result, count, MPI_INT64_T, by.op, on, &request);
  if (mode == AGAIN)
    MPI_Reduce_scatter_block_init(send, result, count, MPI_INT64_T, by.op, on, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < count; ++i)
    CHECK(result[i] == reduced(by, check_size - 1, check_rank * count + i),
          "reduce_scatter_block: element %d", i);
  free(mine);
  free(result);
}

/* The smallest value and the lowest rank that has it. */
static void check_minloc(void) {
  struct {
    double value;
    int rank;
  } mine = {(double)((check_rank + 1) % check_size % 2), check_rank}, result;
  int expected = -1;
  for (int rank = check_size - 1; rank >= 0; --rank)
    if ((rank + 1) % check_size % 2 == 0) expected = rank;
  MPI_Allreduce(&mine, &result, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  CHECK(result.value == 0 && result.rank == expected, "minloc: %g at %d", result.value, result.rank);
}

/* Results of a floating-point sum are the same bits on all ranks. */
static void check_same_bits(int count) {
  double *mine = malloc((size_t)count * sizeof(double)), *sum = malloc((size_t)count * sizeof(double));
  double* first = malloc((size_t)count * sizeof(double));
  for (int i = 0; i < count; ++i) mine[i] = 1.0 / (check_rank + 3 + i);
  MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  memcpy(first, sum, (size_t)count * sizeof(double));
  MPI_Bcast(first, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  CHECK(memcmp(first, sum, (size_t)count * sizeof(double)) == 0, "allreduce of %d doubles", count);
  free(mine);
  free(sum);
  free(first);
}

/* No elements, and no buffers. */
static void check_nothing(void) {
  int* const none = calloc((size_t)check_size, sizeof *none);
  for (int root = 0; root < check_size; ++root)
    MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Exscan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter(NULL, NULL, none, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  free(none);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  operators[0] = (Operator){MPI_SUM, add};
  operators[1].combine = compose;
  MPI_Op_create(compose_all, 0, &operators[1].op);
  for (int mode = 0; mode < MODES; ++mode)
    for (int c = 0; c < COUNTS; ++c)
      for (int o = 0; o < 2; ++o) {
        for (int root = 0; root < check_size; ++root)
          check_reduce(mode, kCounts[c], operators[o], root, (root + c) % 2);
        for (int in_place = 0; in_place < 2; ++in_place) {
          check_allreduce(mode, kCounts[c], operators[o], in_place);
          check_scan(mode, kCounts[c], operators[o], in_place, 0);
          check_scan(mode, kCounts[c], operators[o], in_place, 1);
          check_reduce_scatter(mode, kCounts[c], operators[o], in_place);
        }
      }
  check_minloc();
  check_nothing();
  check_same_bits(3);
  check_same_bits(4000);
  MPI_Op_free(&operators[1].op);
  return check_end();
}
