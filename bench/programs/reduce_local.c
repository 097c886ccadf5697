// MPI_Reduce_local: speed of the reduction operators, GB/s of data read (two operands), rank 0 alone.
// --ops=sum,max   --types=float,double,int16,int32,int64   --sizes: bytes of one operand
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

typedef struct {
  const char* name;
  int bytes;
  MPI_Datatype type;
} Type;

static void store(char* at, const Type* type, int value) {
  const float single = (float)value;
  const double wide = value;
  const int16_t short_word = (int16_t)value;
  const int32_t word = value;
  const int64_t long_word = value;
  const void* from = type->type == MPI_FLOAT    ? (const void*)&single
                     : type->type == MPI_DOUBLE ? (const void*)&wide
                     : type->bytes == 2         ? (const void*)&short_word
                     : type->bytes == 4         ? (const void*)&word
                                                : (const void*)&long_word;
  memcpy(at, from, (size_t)type->bytes);
}

// The times are taken with zeros, which sum and max leave alone, so that floats never overflow.
static void check(const Context* c, const Type* type) {
  const size_t bytes = (size_t)type->bytes;
  char expected[8];
  store(expected, type, c->op == MPI_SUM ? 3 : 2);
  for (int i = 0; i < c->count; ++i) {
    store(c->in + (size_t)i * bytes, type, 2);
    store(c->inout + (size_t)i * bytes, type, 1);
  }
  MPI_Reduce_local(c->in, c->inout, c->count, c->type, c->op);
  for (int i = 0; i < c->count; ++i)
    bench_expect(memcmp(c->inout + (size_t)i * bytes, expected, bytes) == 0, "a reduced element");
  memset(c->in, 0, (size_t)c->count * bytes);
  memset(c->inout, 0, (size_t)c->count * bytes);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "reduce_local");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 4096, 64 << 20, 16);
  Context c = {bench_memory((size_t)bench_size_max(sizes, count)),
               bench_memory((size_t)bench_size_max(sizes, count)), 0, MPI_FLOAT, MPI_SUM};
  const Type types[] = {{"float", 4, MPI_FLOAT},
                        {"double", 8, MPI_DOUBLE},
                        {"int16", 2, MPI_INT16_T},
                        {"int32", 4, MPI_INT32_T},
                        {"int64", 8, MPI_INT64_T}};
  const char* op_names[] = {"sum", "max"};
  for (int op = 0; op < 2; ++op)
    for (const Type* type = types; type < types + sizeof types / sizeof *types; ++type)
      for (int i = 0; i < count; ++i) {
        if (!bench_wants("ops", op_names[op]) || !bench_wants("types", type->name)) continue;
        c.type = type->type;
        c.op = op == 0 ? MPI_SUM : MPI_MAX;
        c.count = (int)(sizes[i] / type->bytes);
        check(&c, type);
        char series[32] = "";
        strcat(strcat(strcat(series, op_names[op]), "_"), type->name);
        const bench_point point = {series, (double)sizes[i], "GB/s", 2e-9 * (double)sizes[i], 1};
        bench_measure(&point, reduce, &c);
      }
  bench_finish();
  return 0;
}
