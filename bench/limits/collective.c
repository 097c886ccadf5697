// The collectives of programs/collective.c by two plain processes that know each other's buffers: a flag
// before, half of the work each, straight from buffer to buffer, and a flag after.  Nobody can do it with
// fewer bytes moved.
//
// --ops, --sizes, --mode: as programs/collective.c.  Allreduce and reduce: each combines its half of both
// operands into every result; bcast: each copies half; allgather, alltoall: each pushes what it gives.
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "data.h"

typedef struct {
  _Alignas(128) _Atomic uint64_t arrived;
} Flag;

static char *send[2], *recv[2];
static Flag* flags[2];
static uint64_t meetings;

static void meet(void) {
  atomic_store_explicit(&flags[bench_rank]->arrived, ++meetings, memory_order_release);
  while (atomic_load_explicit(&flags[1 - bench_rank]->arrived, memory_order_acquire) < meetings)
    __builtin_ia32_pause();
}

static void add(const float* restrict a, const float* restrict b, float* restrict to, float* restrict also,
                size_t count) {
  for (size_t i = 0; also && i < count; ++i) to[i] = also[i] = a[i] + b[i];
  for (size_t i = 0; !also && i < count; ++i) to[i] = a[i] + b[i];
}

/// My half of a block: where it begins, and its bytes.
static size_t half(size_t bytes, size_t* begin) {
  const size_t first = bytes / 2 & ~(size_t)63;
  *begin = bench_rank == 0 ? 0 : first;
  return bench_rank == 0 ? first : bytes - first;
}

static void reduce(size_t bytes, int everywhere) {
  size_t begin;
  const size_t mine = half(bytes, &begin);
  add((const float*)(send[0] + begin), (const float*)(send[1] + begin), (float*)(recv[0] + begin),
      everywhere ? (float*)(recv[1] + begin) : NULL, mine / sizeof(float));
}

static void run(const char* name, size_t bytes) {
  size_t begin;
  const size_t mine = half(bytes, &begin);
  const int me = bench_rank, other = 1 - bench_rank;
  meet();
  if (strcmp(name, "allreduce") == 0) {
    reduce(bytes, 1);
  } else if (strcmp(name, "reduce") == 0) {
    reduce(bytes, 0);
  } else if (strcmp(name, "bcast") == 0) {
    memcpy(recv[1] + begin, recv[0] + begin, mine);
  } else {
    const size_t to_me = strcmp(name, "alltoall") == 0 ? (size_t)me * bytes : 0;
    const size_t to_other = strcmp(name, "alltoall") == 0 ? (size_t)other * bytes : 0;
    memcpy(recv[me] + (size_t)me * bytes, send[me] + to_me, bytes);
    memcpy(recv[other] + (size_t)me * bytes, send[me] + to_other, bytes);
  }
  meet();
}

static double timed(const char* name, size_t bytes, int blocks_sent, int blocks_received, int is_fresh,
                    long iterations) {
  const int is_bcast = strcmp(name, "bcast") == 0, is_reduce = strcmp(name, "reduce") == 0;
  double seconds = 0;
  for (long i = 0; i < iterations; ++i) {
    const double start = bench_now();
    if (is_fresh && !(is_bcast && bench_rank != 0))
      write_all(is_bcast ? recv[0] : send[bench_rank], bytes * (size_t)blocks_sent,
                0x3f8000003f800000u + (uint64_t)i);
    run(name, bytes);
    if (is_fresh && !(is_reduce && bench_rank != 0))
      read_all(recv[bench_rank], bytes * (size_t)blocks_received);
    seconds += bench_now() - start;
    meet();
  }
  return seconds / (double)iterations;
}

static void measure(const char* name, size_t bytes) {
  const int is_fresh = strcmp(bench_text("mode", "clean"), "fresh") == 0;
  const int sent = strcmp(name, "alltoall") == 0 ? 2 : 1;
  const int received = strcmp(name, "alltoall") == 0 || strcmp(name, "allgather") == 0 ? 2 : 1;
  write_all(send[bench_rank], 2 * bytes, 0x3f8000003f800000u);
  write_all(recv[bench_rank], 2 * bytes, 0x3f8000003f800000u);
  const double first = bench_largest(timed(name, bytes, sent, received, is_fresh, 3));
  long iterations = (long)(0.5e-3 * (double)bench_option("ms", 20) / (first > 1e-7 ? first : 1e-7));
  iterations = iterations < 3 ? 3 : iterations > 20000 ? 20000 : iterations;
  for (long repeat = 0; repeat < bench_option("repeats", 5); ++repeat) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = bench_probe();
    MPI_Barrier(MPI_COMM_WORLD);
    const double mean = bench_mean(timed(name, bytes, sent, received, is_fresh, iterations));
    const double after = bench_probe();
    char series[64];
    (void)snprintf(series, sizeof series, "%s%s", name, is_fresh ? "_fresh" : "");
    bench_sample_probed(series, (double)bytes, mean * 1e6, "us", before, after);
  }
}

/// Where the other process has its own.
static void* exchanged(void* mine) {
  long theirs = 0, own = (long)(intptr_t)mine;
  MPI_Sendrecv(&own, 1, MPI_LONG, 1 - bench_rank, 0, &theirs, 1, MPI_LONG, 1 - bench_rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  return (void*)(intptr_t)theirs;
}

int main(int argc, char** argv) {
  static const char* const kNames[] = {"allreduce", "reduce", "bcast", "allgather", "alltoall"};
  bench_start(&argc, &argv, "collective");
  if (bench_ranks != 2) {
    fprintf(stderr, "collective: two processes, not %d\n", bench_ranks);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 8, 1 << 20, 4);
  const size_t room = 2 * (size_t)bench_size_max(sizes, count);
  send[bench_rank] = bench_buffer(room);
  recv[bench_rank] = bench_buffer(room);
  flags[bench_rank] = bench_buffer(sizeof(Flag));
  send[1 - bench_rank] = exchanged(send[bench_rank]);
  recv[1 - bench_rank] = exchanged(recv[bench_rank]);
  flags[1 - bench_rank] = exchanged(flags[bench_rank]);
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i)
    for (int k = 0; bench_wants("ops", kNames[i]) && k < count; ++k) measure(kNames[i], (size_t)sizes[k]);
  bench_finish();
  return 0;
}
