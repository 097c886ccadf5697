/* A reduction whose operator, at its first call, frees itself and the datatype that it is called with, and
 * makes others where they were: what the program frees is used to the end of the call (MPI 5.0, 5.1.9 and
 * 6.9.5). ranks: 1 2 3 4 variants: none */
#include "coll_check.h"

enum { OTHERS = 8, LONG = 10000 };
static MPI_Op own, others[OTHERS];
static MPI_Datatype pair, triples[OTHERS];
static int is_freed;

static void never(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
  CHECK(0, "another operator was called than the one that was given");
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  if (!is_freed) {
    is_freed = 1;
    MPI_Op_free(&own);
    MPI_Type_free(&pair);
    for (int i = 0; i < OTHERS; ++i) {
      MPI_Op_create(never, 1, &others[i]);
      MPI_Type_contiguous(3, MPI_DOUBLE, &triples[i]);
      MPI_Type_commit(&triples[i]);
    }
  }
  for (int i = 0; i < 2 * *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void make(void) {
  is_freed = 0;
  MPI_Op_create(add, 1, &own);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
}

static void drop(void) {
  if (!is_freed) MPI_Op_free(&own), MPI_Type_free(&pair);
  for (int i = 0; is_freed && i < OTHERS; ++i) MPI_Op_free(&others[i]), MPI_Type_free(&triples[i]);
}

enum { ALLREDUCE, REDUCE, SCAN, EXSCAN, SCATTER_BLOCK, KINDS };

static void reduce(int kind, int mode, const int* in, int* out, int n, MPI_Request* request) {
  const MPI_Comm world = MPI_COMM_WORLD;
  if (kind == ALLREDUCE && mode == NOW) MPI_Allreduce(in, out, n, pair, own, world);
  if (kind == ALLREDUCE && mode == LATER) MPI_Iallreduce(in, out, n, pair, own, world, request);
  if (kind == ALLREDUCE && mode == AGAIN)
    MPI_Allreduce_init(in, out, n, pair, own, world, MPI_INFO_NULL, request);
  if (kind == REDUCE) MPI_Reduce(in, out, n, pair, own, 0, world);
  if (kind == SCAN) MPI_Scan(in, out, n, pair, own, world);
  if (kind == EXSCAN) MPI_Exscan(in, out, n, pair, own, world);
  if (kind == SCATTER_BLOCK) MPI_Reduce_scatter_block(in, out, n, pair, own, world);
}

/* Rank `r` gives r + i. */
static int expected(int kind, int n, int i) {
  const int all = check_size * (check_size - 1) / 2;
  if (kind == SCAN) return check_rank * (check_rank + 1) / 2 + (check_rank + 1) * i;
  if (kind == EXSCAN) return check_rank * (check_rank - 1) / 2 + check_rank * i;
  return all + check_size * (i + (kind == SCATTER_BLOCK ? 2 * n * check_rank : 0));
}

static void check(int kind, int mode, int n) {
  const int ints = 2 * n * check_size;
  int* const in = malloc((size_t)ints * sizeof *in);
  int* const out = malloc((size_t)ints * sizeof *out);
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < ints; ++i) in[i] = check_rank + i, out[i] = -1;
  make();
  reduce(kind, mode, in, out, n, &request);
  finish(mode, &request);
  const int is_told = (kind != REDUCE || check_rank == 0) && (kind != EXSCAN || check_rank > 0);
  for (int i = 0; is_told && i < 2 * n; ++i)
    CHECK(out[i] == expected(kind, n, i), "kind %d, mode %d, %d pairs: [%d] is %d", kind, mode, n, i, out[i]);
  drop();
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  for (int n = 1; n <= LONG; n *= 100) {
    for (int kind = 0; kind < KINDS; ++kind) check(kind, NOW, n);
    check(ALLREDUCE, LATER, n);
    check(ALLREDUCE, AGAIN, n);
  }
  return check_end();
}
