// Overlap of a nonblocking collective write with computing, %.
//
// t1: MPI_File_iwrite_all and its wait alone.  Then rank 0 computes in between what takes t1 without it: t2.
// Overlap is the part of t1 that is hidden: 100 x (2 - t2 / t1), from 0 to 100.  What is computed is a fixed
// amount of work, so it is slower, and the overlap less, where the library takes the CPU away from it.  Only
// rank 0 has data; the others take part and wait, so that a CPU is free wherever there are two.
// --sizes=64,4096,...  bytes of a piece, with gaps as long; a series `contiguous`, too
// --mb=8               of data
// --file=NAME          default /dev/shm/dunlin-bench-file
#include <string.h>
#include <unistd.h>

#include "sample.h"

typedef struct {
  MPI_File file;
  char* memory;
  int bytes;
} Context;

static volatile double source = 1, sink;

static double compute(long steps) {
  const double start = bench_now();
  double value = source;  // read after the clock
  for (long i = 0; i < steps; ++i) value = value * 0.999999 + 1e-6;
  sink = value;
  return bench_now() - start;
}

/// Steps that take so long, on rank 0.
static long steps_for(double seconds) {
  const long sample = 1 << 20;
  const double one = compute(sample), other = compute(sample);
  return (long)(seconds / (one < other ? one : other) * (double)sample);
}

/// Mean time of a write with so many steps of computing.
static double timed(const Context* c, long steps, long iterations) {
  double sum = 0;
  for (long i = 0; i < iterations; ++i) {
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = bench_now();
    MPI_File_iwrite_at_all(c->file, 0, c->memory, bench_rank == 0 ? c->bytes : 0, MPI_BYTE, &request);
    if (bench_rank == 0) compute(steps);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum += bench_now() - start;
  }
  return sum / (double)iterations;
}

static void verify(const Context* c) {
  const int mine = bench_rank == 0 ? c->bytes : 0;
  memset(c->memory, 0, (size_t)mine);
  MPI_File_read_at_all(c->file, 0, c->memory, mine, MPI_BYTE, MPI_STATUS_IGNORE);
  bench_verify(c->memory, (size_t)mine, 1);
}

static void measure(const Context* c, const char* series, double x) {
  long iterations = 3;
  timed(c, 0, iterations);
  iterations = (long)(1e-3 * (double)bench_option("ms", 60) / timed(c, 0, iterations)) + 1;
  MPI_Bcast(&iterations, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  for (long repeat = 0; repeat < bench_option("repeats", 5); ++repeat) {
    const double before = bench_probe();
    const double alone = timed(c, 0, iterations);
    const long steps = steps_for(alone);
    const double both = timed(c, steps, iterations), computing = compute(steps);
    verify(c);
    const double after = bench_probe(), hidden = 100 * (1 - (both - computing) / alone);
    bench_sample_probed(series, x, hidden < 0 ? 0 : hidden > 100 ? 100 : hidden, "%", before, after);
  }
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "file_overlap");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 64, 4096, 64);
  const char* const path = bench_text("file", "/dev/shm/dunlin-bench-file");
  Context c = {MPI_FILE_NULL, NULL, (int)bench_option("mb", 8) << 20};
  c.memory = bench_memory((size_t)c.bytes);
  bench_fill(c.memory, (size_t)c.bytes, 1);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &c.file);
  measure(&c, "contiguous", c.bytes);
  for (int s = 0; s < count; ++s) {
    MPI_Datatype piece, filetype;
    MPI_Type_contiguous((int)sizes[s], MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, 2 * sizes[s], &filetype);
    MPI_Type_commit(&filetype);
    MPI_File_set_view(c.file, 0, MPI_BYTE, filetype, "native", MPI_INFO_NULL);
    measure(&c, "strided", (double)sizes[s]);
    MPI_Type_free(&piece);
    MPI_Type_free(&filetype);
  }
  MPI_File_close(&c.file);
  if (bench_rank == 0) unlink(path);
  bench_finish();
  return 0;
}
