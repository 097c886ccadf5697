// One rank's data read by all others at once: rank 0 sends the same buffer to every other rank.
//
// Mapped reads of one source scale with the readers, while copies by the kernel contend for locks on the
// owner's pages.  The value is us per round, each ended by a barrier.
#include "sample.h"

typedef struct {
  char* data;
  int bytes;
  MPI_Request* requests;
} Context;

static void round_of_reads(const Context* context) {
  if (bench_rank == 0) {
    for (int rank = 1; rank < bench_ranks; ++rank)
      MPI_Isend(context->data, context->bytes, MPI_BYTE, rank, 1, MPI_COMM_WORLD,
                &context->requests[rank - 1]);
    MPI_Waitall(bench_ranks - 1, context->requests, MPI_STATUSES_IGNORE);
  } else {
    MPI_Recv(context->data, context->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

// With more ranks than CPUs the readers leave a barrier at different times and may find their data there
// already, so the whole is timed: rounds, each ended by a barrier.
static double timed(const Context* context, long iterations) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = bench_now();
  for (long i = 0; i < iterations; ++i) {
    round_of_reads(context);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return (bench_now() - start) / (double)iterations;
}

static void check(const Context* context) {
  if (bench_rank == 0) bench_fill(context->data, (size_t)context->bytes, 11);
  round_of_reads(context);
  bench_verify(context->data, (size_t)context->bytes, 11);
}

static void measure(const Context* context) {
  check(context);
  const double first = bench_largest(timed(context, 3));
  long iterations = (long)(1e-3 * (double)bench_option("ms", 60) / (first > 1e-6 ? first : 1e-6));
  iterations = iterations < 3 ? 3 : iterations > 5000 ? 5000 : iterations;
  for (long repeat = 0; repeat < bench_option("repeats", 5); ++repeat) {
    const double before = bench_probe();
    const double seconds = timed(context, iterations);
    const double after = bench_probe();
    bench_sample_probed("read", context->bytes, seconds * 1e6, "us", before, after);
  }
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "one_to_all");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 4096, 4 << 20, 16);
  Context context = {bench_buffer((size_t)bench_size_max(sizes, count)), 0, NULL};
  context.requests = bench_memory(sizeof(MPI_Request) * (size_t)bench_ranks);
  for (int i = 0; i < count && bench_ranks > 1; ++i) {
    context.bytes = (int)sizes[i];
    measure(&context);
  }
  bench_finish();
  return 0;
}
