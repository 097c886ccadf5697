// Ping-pong of many pairs at once: rank r with rank r + ranks/2.  The value is the mean over pairs, us half
// round trip. With more ranks than CPUs this measures how well the library shares them.
#include "sample.h"

typedef struct {
  char* data;
  int bytes;
} Context;

static void ping_pong(long iterations, void* opaque) {
  const Context* context = opaque;
  const int half = bench_ranks / 2;
  for (long i = 0; i < iterations; ++i) {
    if (bench_rank < half) {
      MPI_Send(context->data, context->bytes, MPI_BYTE, bench_rank + half, 1, MPI_COMM_WORLD);
      MPI_Recv(context->data, context->bytes, MPI_BYTE, bench_rank + half, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    } else if (bench_rank < 2 * half) {
      MPI_Recv(context->data, context->bytes, MPI_BYTE, bench_rank - half, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      MPI_Send(context->data, context->bytes, MPI_BYTE, bench_rank - half, 1, MPI_COMM_WORLD);
    }
  }
}

// Like bench_measure, but the mean over ranks counts: rank 0's own pair may be served better than the others.
static void measure(Context* context) {
  const double wanted_s = 1e-3 * (double)bench_option("ms", 60);
  long iterations = 50;
  for (;;) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = bench_now();
    ping_pong(iterations, context);
    const double seconds = bench_largest(bench_now() - start);
    if (seconds * 1.5 > wanted_s || iterations > 1000000) break;
    iterations = (long)((double)iterations * (wanted_s / seconds > 8 ? 8 : wanted_s / seconds)) + 1;
  }
  for (long repeat = 0; repeat < bench_option("repeats", 5); ++repeat) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = bench_now();
    ping_pong(iterations, context);
    const double mean = bench_mean(bench_now() - start);
    bench_sample("pairs", context->bytes, mean / (double)iterations / 2 * 1e6, "us");
  }
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "multi_pair");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 8, 8, 8);
  Context context = {bench_buffer((size_t)bench_size_max(sizes, count)), 0};
  for (int i = 0; i < count && bench_ranks >= 2; ++i) {
    context.bytes = (int)sizes[i];
    measure(&context);
  }
  bench_finish();
  return 0;
}
