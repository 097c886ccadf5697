// CPU availability while a message is sent or received, after Sandia's overhead benchmark (post, work, wait).
//
// Rank 0 posts a nonblocking send (or receive), computes for longer than the transfer takes, and waits.  What
// the iteration takes beyond the computation is overhead; 100 % availability means the transfer cost the
// program nothing, 0 % that it cost as much as a transfer without computation, below 0 that it cost more.
#include "sample.h"

typedef struct {
  char* data;
  int bytes;
  int is_send;
} Context;

static volatile double sink;

static void work(long units) {
  double value = 1;
  for (long i = 0; i < units; ++i)
    for (int k = 0; k < 64; ++k) value = value * 0.999999 + 1e-6;
  sink = value;
}

// One iteration on rank 0: its time from posting to completion, with `units` of work in between.
static double iteration(const Context* context, long units) {
  char token = 0;
  MPI_Request request;
  if (bench_rank == 1) {
    if (context->is_send) {
      MPI_Irecv(context->data, context->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
      MPI_Send(&token, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&token, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(context->data, context->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
    return 0;
  }
  if (context->is_send) MPI_Recv(&token, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const double start = bench_now();
  if (context->is_send) {
    MPI_Isend(context->data, context->bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
  } else {
    MPI_Irecv(context->data, context->bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Send(&token, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
  }
  if (units) work(units);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return bench_now() - start;
}

static double mean_of(const Context* context, long units, long iterations) {
  double sum = 0;
  for (long i = 0; i < iterations; ++i) sum += iteration(context, units);
  return sum / (double)iterations;
}

static double work_seconds(long units, long times) {
  const double start = bench_now();
  for (long i = 0; i < times; ++i) work(units);
  return (bench_now() - start) / (double)times;
}

static void measure(const Context* context) {
  const double unit_s = work_seconds(1000, 20) / 1000;
  double base = mean_of(context, 0, 10);
  base = mean_of(context, 0, 20);
  long iterations = (long)(5e-3 / (base > 1e-7 ? base : 1e-7));
  iterations = iterations < 10 ? 10 : iterations > 5000 ? 5000 : iterations;
  MPI_Bcast(&iterations, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  for (long repeat = 0; repeat < bench_option("repeats", 5); ++repeat) {
    const double before = bench_probe();
    base = mean_of(context, 0, iterations);
    const long units = (long)(2 * base / unit_s) + 1;  // twice as long as the transfer
    const double alone = work_seconds(units, iterations < 100 ? iterations : 100);
    const double overhead = mean_of(context, units, iterations) - alone;
    const double after = bench_probe();
    const double percent = base > 0 ? 100 * (1 - overhead / base) : 0;
    bench_sample_probed(context->is_send ? "send" : "receive", context->bytes, percent, "%", before, after);
  }
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "availability");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 8, 4 << 20, 8);
  Context context = {bench_buffer((size_t)bench_size_max(sizes, count)), 0, 0};
  for (context.is_send = 1; context.is_send >= 0 && bench_ranks == 2; --context.is_send)
    for (int i = 0; i < count; ++i) {
      context.bytes = (int)sizes[i];
      measure(&context);
    }
  bench_finish();
  return 0;
}
