// MPI_Reduce_local: speed of the reduction operators, GB/s of data read (two operands), rank 0 alone.
// --ops=sum,max   --types=float,double,int32,int64   --sizes: bytes of one operand
#include <string.h>

#include "sample.h"

typedef struct {
  char *in, *inout;
  int count;
  MPI_Datatype type;
  MPI_Op op;
} Context;

static void reduce(long iterations, void* opaque) {
  const Context* c = opaque;
  if (bench_rank != 0) return;
  for (long i = 0; i < iterations; ++i) MPI_Reduce_local(c->in, c->inout, c->count, c->type, c->op);
}

// Zeros: sum and max leave them alone, so that floats never overflow; the check uses ones.
static void check(const Context* c, int is_float, int is_wide) {
  const size_t word = is_wide ? 8 : 4;
  for (int i = 0; i < c->count; ++i) {
    const double one = 1, two = 2;
    const float one_f = 1, two_f = 2;
    const int64_t one_i = 1, two_i = 2;
    memcpy(c->in + (size_t)i * word, is_float ? is_wide ? (const void*)&two : &two_f : &two_i, word);
    memcpy(c->inout + (size_t)i * word, is_float ? is_wide ? (const void*)&one : &one_f : &one_i, word);
  }
  MPI_Reduce_local(c->in, c->inout, c->count, c->type, c->op);
  const double expected = c->op == MPI_SUM ? 3 : 2;
  for (int i = 0; i < c->count; ++i) {
    double found = 0;
    if (is_float && is_wide) memcpy(&found, c->inout + (size_t)i * word, 8);
    if (is_float && !is_wide) found = ((const float*)c->inout)[i];
    if (!is_float && is_wide) found = (double)((const int64_t*)c->inout)[i];
    if (!is_float && !is_wide) found = ((const int32_t*)c->inout)[i];
    bench_expect(found == expected, "a reduced element");
  }
  memset(c->in, 0, (size_t)c->count * word);
  memset(c->inout, 0, (size_t)c->count * word);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "reduce_local");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 4096, 64 << 20, 16);
  Context c = {bench_memory((size_t)bench_size_max(sizes, count)),
               bench_memory((size_t)bench_size_max(sizes, count)), 0, MPI_FLOAT, MPI_SUM};
  const char *type_names[] = {"float", "double", "int32", "int64"}, *op_names[] = {"sum", "max"};
  for (int op = 0; op < 2; ++op)
    for (int type = 0; type < 4; ++type)
      for (int i = 0; i < count; ++i) {
        if (!bench_wants("ops", op_names[op]) || !bench_wants("types", type_names[type])) continue;
        const int is_float = type < 2, is_wide = type % 2;
        c.type = is_float ? is_wide ? MPI_DOUBLE : MPI_FLOAT : is_wide ? MPI_INT64_T : MPI_INT32_T;
        c.op = op == 0 ? MPI_SUM : MPI_MAX;
        c.count = (int)(sizes[i] / (is_wide ? 8 : 4));
        check(&c, is_float, is_wide);
        char series[32] = "";
        strcat(strcat(strcat(series, op_names[op]), "_"), type_names[type]);
        const bench_point point = {series, (double)sizes[i], "GB/s", 2e-9 * (double)sizes[i], 1};
        bench_measure(&point, reduce, &c);
      }
  bench_finish();
  return 0;
}
