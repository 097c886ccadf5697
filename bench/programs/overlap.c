// Overlap of nonblocking communication with computation (the method of the OSU nonblocking benchmarks).
//
// t1: operation alone, start to wait.  Then start, compute for t1, wait: t2.  Overlap is the part of t1 that
// the computation hid: 100 x (1 - (t2 - compute) / t1), not below 0.  Computing makes no MPI calls.
// --ops=exchange,ibarrier,ibcast,iallreduce,iallgather,ialltoall
#include "sample.h"

typedef struct {
  char *send, *recv;
  int bytes;
} Context;

typedef struct {
  const char* name;
  int (*start)(const Context*, MPI_Request*);  // returns the number of requests
} Operation;

static volatile double sink;

static void compute(double seconds) {
  const double end = bench_now() + seconds;
  double value = 1;
  while (bench_now() < end)
    for (int i = 0; i < 50; ++i) value = value * 0.999999 + 1e-6;
  sink = value;
}

static int start_exchange(const Context* c, MPI_Request* requests) {
  const int next = (bench_rank + 1) % bench_ranks, previous = (bench_rank + bench_ranks - 1) % bench_ranks;
  MPI_Irecv(c->recv, c->bytes, MPI_BYTE, previous, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(c->send, c->bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[1]);
  return 2;
}
static int start_ibarrier(const Context* c, MPI_Request* requests) {
  (void)c;
  MPI_Ibarrier(MPI_COMM_WORLD, requests);
  return 1;
}
static int start_ibcast(const Context* c, MPI_Request* requests) {
  MPI_Ibcast(c->recv, c->bytes, MPI_BYTE, 0, MPI_COMM_WORLD, requests);
  return 1;
}
static int start_iallreduce(const Context* c, MPI_Request* requests) {
  MPI_Iallreduce(c->send, c->recv, c->bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, requests);
  return 1;
}
static int start_iallgather(const Context* c, MPI_Request* requests) {
  MPI_Iallgather(c->send, c->bytes, MPI_BYTE, c->recv, c->bytes, MPI_BYTE, MPI_COMM_WORLD, requests);
  return 1;
}
static int start_ialltoall(const Context* c, MPI_Request* requests) {
  MPI_Ialltoall(c->send, c->bytes, MPI_BYTE, c->recv, c->bytes, MPI_BYTE, MPI_COMM_WORLD, requests);
  return 1;
}

static const Operation operations[] = {
    {"exchange", start_exchange},     {"ibarrier", start_ibarrier},     {"ibcast", start_ibcast},
    {"iallreduce", start_iallreduce}, {"iallgather", start_iallgather}, {"ialltoall", start_ialltoall},
};
enum { kOperations = sizeof operations / sizeof operations[0] };

static double timed(const Context* c, const Operation* operation, double compute_s, long iterations) {
  double sum = 0;
  for (long i = 0; i < iterations; ++i) {
    MPI_Request requests[2];
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = bench_now();
    const int count = operation->start(c, requests);
    if (compute_s > 0) compute(compute_s);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    sum += bench_now() - start;
  }
  return bench_mean(sum / (double)iterations);
}

static void measure(const Context* c, const Operation* operation) {
  double alone = timed(c, operation, 0, 10);
  long iterations = (long)(8e-3 / (alone > 1e-7 ? alone : 1e-7));
  iterations = iterations < 5 ? 5 : iterations > 2000 ? 2000 : iterations;
  for (long repeat = 0; repeat < bench_option("repeats", 5); ++repeat) {
    const double before = bench_probe();
    alone = timed(c, operation, 0, iterations);
    const double both = timed(c, operation, alone, iterations);
    const double after = bench_probe();
    const double hidden = 100 * (1 - (both - alone) / alone);
    bench_sample_probed(operation->name, c->bytes, hidden > 0 ? hidden : 0, "%", before, after);
  }
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "overlap");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 1024, 4 << 20, 16);
  const size_t room = (size_t)bench_size_max(sizes, count) * (size_t)bench_ranks;
  Context context = {bench_buffer(room), bench_buffer(room), 0};
  for (int which = 0; which < kOperations; ++which)
    for (int i = 0; i < count; ++i) {
      if (!bench_wants("ops", operations[which].name)) continue;
      if (operations[which].start == start_ibarrier && i > 0) continue;
      context.bytes = operations[which].start == start_ibarrier ? 0 : (int)sizes[i];
      measure(&context, &operations[which]);
    }
  bench_finish();
  return 0;
}
