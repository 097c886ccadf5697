// Latency of the blocking collectives: mean over ranks of the time in the call, with a barrier between calls
// (the method of the OSU benchmarks).  With more ranks than CPUs, where a call may leave its work to the
// barrier after it, the time of both.  Results are checked for every size.
//
// --ops=barrier,bcast,...   --sizes=8,1024 or --min, --max, --factor: bytes per rank and destination
// --mode=clean (the default) or fresh: see data.h; then the time of every rank holds its writing and reading
// --memory=pages (the default) page-aligned memory, stack: of each rank, up to 512 KiB for all blocks of a
// buffer; larger sizes are left out
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data.h"

typedef struct {
  char *send, *recv;
  int bytes;             // of one block
  int *counts, *places;  // per rank, for the v-collectives; counts are `bytes`
  MPI_Datatype* types;   // per rank, MPI_BYTE
} Context;

typedef struct {
  const char* name;
  void (*call)(const Context*);
  int blocks_sent, blocks_received;  // buffers in blocks; -1: one per rank
} Collective;

static void barrier(const Context* c) {
  (void)c;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void bcast(const Context* c) { MPI_Bcast(c->recv, c->bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }
static void reduce(const Context* c) {
  MPI_Reduce(c->send, c->recv, c->bytes / 4, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
}
static void allreduce(const Context* c) {
  MPI_Allreduce(c->send, c->recv, c->bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void gather(const Context* c) {
  MPI_Gather(c->send, c->bytes, MPI_BYTE, c->recv, c->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void gatherv(const Context* c) {
  MPI_Gatherv(c->send, c->bytes, MPI_BYTE, c->recv, c->counts, c->places, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void scatter(const Context* c) {
  MPI_Scatter(c->send, c->bytes, MPI_BYTE, c->recv, c->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void scatterv(const Context* c) {
  MPI_Scatterv(c->send, c->counts, c->places, MPI_BYTE, c->recv, c->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void allgather(const Context* c) {
  MPI_Allgather(c->send, c->bytes, MPI_BYTE, c->recv, c->bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void allgatherv(const Context* c) {
  MPI_Allgatherv(c->send, c->bytes, MPI_BYTE, c->recv, c->counts, c->places, MPI_BYTE, MPI_COMM_WORLD);
}
static void alltoall(const Context* c) {
  MPI_Alltoall(c->send, c->bytes, MPI_BYTE, c->recv, c->bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void alltoallv(const Context* c) {
  MPI_Alltoallv(c->send, c->counts, c->places, MPI_BYTE, c->recv, c->counts, c->places, MPI_BYTE,
                MPI_COMM_WORLD);
}
static void alltoallw(const Context* c) {
  MPI_Alltoallw(c->send, c->counts, c->places, c->types, c->recv, c->counts, c->places, c->types,
                MPI_COMM_WORLD);
}
static void reduce_scatter_block(const Context* c) {
  MPI_Reduce_scatter_block(c->send, c->recv, c->bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void scan(const Context* c) {
  MPI_Scan(c->send, c->recv, c->bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void exscan(const Context* c) {
  MPI_Exscan(c->send, c->recv, c->bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static MPI_Comm ring;  // periodic, one dimension: two neighbours

static void neighbor_allgather(const Context* c) {
  MPI_Neighbor_allgather(c->send, c->bytes, MPI_BYTE, c->recv, c->bytes, MPI_BYTE, ring);
}
static void neighbor_alltoall(const Context* c) {
  MPI_Neighbor_alltoall(c->send, c->bytes, MPI_BYTE, c->recv, c->bytes, MPI_BYTE, ring);
}
static void reduce_scatter(const Context* c) {
  enum { kRanksMax = 1024 };
  int elements[kRanksMax];
  for (int rank = 0; rank < bench_ranks && rank < kRanksMax; ++rank) elements[rank] = c->bytes / 4;
  MPI_Reduce_scatter(c->send, c->recv, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static const Collective collectives[] = {
    {"barrier", barrier, 0, 0},
    {"bcast", bcast, 0, 1},
    {"reduce", reduce, 1, 1},
    {"allreduce", allreduce, 1, 1},
    {"gather", gather, 1, -1},
    {"scatter", scatter, -1, 1},
    {"allgather", allgather, 1, -1},
    {"alltoall", alltoall, -1, -1},
    {"reduce_scatter_block", reduce_scatter_block, -1, 1},
    {"reduce_scatter", reduce_scatter, -1, 1},
    {"scan", scan, 1, 1},
    {"exscan", exscan, 1, 1},
    {"gatherv", gatherv, 1, -1},
    {"scatterv", scatterv, -1, 1},
    {"allgatherv", allgatherv, 1, -1},
    {"alltoallv", alltoallv, -1, -1},
    {"alltoallw", alltoallw, -1, -1},
    {"neighbor_allgather", neighbor_allgather, 1, 2},
    {"neighbor_alltoall", neighbor_alltoall, 2, 2},
};
enum { kCollectives = sizeof collectives / sizeof collectives[0] };

static int blocks_of(int count) { return count < 0 ? bench_ranks : count; }

static int is_reduction(const char* name) { return strstr(name, "reduce") || strstr(name, "scan"); }

// Rank r sends the value r + 1 in every element (reductions) or in every byte (data movement).
static void fill(const Context* c, const Collective* which) {
  const size_t bytes = (size_t)c->bytes * (size_t)blocks_of(which->blocks_sent);
  memset(c->send, bench_rank + 1, bytes);
  if (is_reduction(which->name))
    for (size_t i = 0; i < bytes / 4; ++i) ((float*)c->send)[i] = (float)(bench_rank + 1);
  memset(c->recv, strcmp(which->name, "bcast") == 0 && bench_rank == 0 ? 1 : 0x55,
         (size_t)c->bytes * (size_t)blocks_of(which->blocks_received));
}

static void check_reduction(const Context* c, const char* name) {
  const int is_root_only = strcmp(name, "reduce") == 0, is_scan = strstr(name, "scan") != NULL;
  if (is_root_only && bench_rank != 0) return;
  if (strcmp(name, "exscan") == 0 && bench_rank == 0) return;
  const int terms = strcmp(name, "exscan") == 0          ? bench_rank
                    : is_scan && !strstr(name, "reduce") ? bench_rank + 1
                                                         : bench_ranks;
  const float expected = (float)terms * (float)(terms + 1) / 2;
  for (int i = 0; i < c->bytes / 4; ++i) bench_expect(((float*)c->recv)[i] == expected, name);
}

static void check_movement(const Context* c, const Collective* which) {
  const char* name = which->name;
  const int is_rooted = strncmp(name, "gather", 6) == 0;
  if (is_rooted && bench_rank != 0) return;
  for (int block = 0; block < blocks_of(which->blocks_received); ++block) {
    const int neighbour = (bench_rank + (block == 0 ? -1 : 1) + bench_ranks) % bench_ranks;
    const int source = which->blocks_received < 0 ? block : which->blocks_received == 2 ? neighbour : 0;
    const char expected = (char)(source + 1);
    for (int i = 0; i < c->bytes; ++i)
      bench_expect(c->recv[(size_t)block * (size_t)c->bytes + (size_t)i] == expected, name);
  }
}

static int is_fresh;

// What a rank of a program does before: it computes what it gives.  All values are floats between 1 and 2.
static void write_before(const Context* c, const Collective* which, long iteration) {
  const int is_bcast = strcmp(which->name, "bcast") == 0;
  if (is_bcast && bench_rank != 0) return;
  const int blocks = is_bcast ? 1 : blocks_of(which->blocks_sent);
  write_all(is_bcast ? c->recv : c->send, (size_t)c->bytes * (size_t)blocks,
            0x3f8000003f800000u + (uint64_t)iteration);
}

// And after: it uses what it gets.
static void read_after(const Context* c, const Collective* which) {
  const int is_at_root = strcmp(which->name, "reduce") == 0 || strncmp(which->name, "gather", 6) == 0;
  if (is_at_root && bench_rank != 0) return;
  read_all(c->recv, (size_t)c->bytes * (size_t)blocks_of(which->blocks_received));
}

static double timed(const Context* c, const Collective* which, long iterations) {
  const int is_shared = bench_ranks > sysconf(_SC_NPROCESSORS_ONLN) && which->call != barrier;
  double seconds = 0;
  for (long i = 0; i < iterations; ++i) {
    const double start = bench_now();
    if (is_fresh) write_before(c, which, i);
    which->call(c);
    if (is_fresh) read_after(c, which);
    if (!is_shared) seconds += bench_now() - start;
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_shared) seconds += bench_now() - start;
  }
  return seconds / (double)iterations;
}

static void measure(const Context* c, const Collective* which) {
  fill(c, which);
  which->call(c);
  if (is_reduction(which->name))
    check_reduction(c, which->name);
  else
    check_movement(c, which);
  const double wanted_s = 1e-3 * (double)bench_option("ms", 20);
  double first = bench_largest(timed(c, which, 3));
  // Those may have met memory for the first time, and say nothing of what follows.
  if (first < 1e-3) first = bench_largest(timed(c, which, 16));
  long iterations = (long)(wanted_s / 2 / (first > 1e-7 ? first : 1e-7));
  if (iterations < 3) iterations = 3;
  if (iterations > 20000) iterations = 20000;
  for (long repeat = 0; repeat < bench_option("repeats", 5); ++repeat) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = bench_probe();
    MPI_Barrier(MPI_COMM_WORLD);
    const double mean = bench_mean(timed(c, which, iterations));
    const double after = bench_probe();
    char series[64];
    (void)snprintf(series, sizeof series, "%s%s", which->name, is_fresh ? "_fresh" : "");
    bench_sample_probed(series, c->bytes, mean * 1e6, "us", before, after);
  }
}

enum { kStackBytes = 512 << 10 };  // of each buffer

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "collective");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 8, 1 << 20, 4);
  const int is_periodic = 1;
  is_fresh = strcmp(bench_text("mode", "clean"), "fresh") == 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &bench_ranks, &is_periodic, 0, &ring);
  const size_t room = (size_t)bench_size_max(sizes, count) * (size_t)(bench_ranks > 2 ? bench_ranks : 2);
  const int is_stack = strcmp(bench_text("memory", "pages"), "stack") == 0;
  _Alignas(64) char on_stack[2][kStackBytes];
  Context context = {on_stack[0], on_stack[1], 0, NULL, NULL, NULL};
  if (!is_stack) context.send = bench_buffer(room);
  if (!is_stack) context.recv = bench_buffer(room);
  context.counts = bench_memory(sizeof(int) * (size_t)bench_ranks);
  context.places = bench_memory(sizeof(int) * (size_t)bench_ranks);
  context.types = bench_memory(sizeof(MPI_Datatype) * (size_t)bench_ranks);
  for (int which = 0; which < kCollectives; ++which) {
    const int has_data = collectives[which].blocks_sent || collectives[which].blocks_received;
    if (!bench_wants("ops", collectives[which].name)) continue;
    for (int i = 0; i < count; ++i) {
      const int bytes = (int)sizes[i];
      if (is_stack && bytes > kStackBytes / (bench_ranks > 2 ? bench_ranks : 2)) continue;
      context.bytes = has_data ? bytes : 0;
      for (int rank = 0; rank < bench_ranks; ++rank) {
        context.counts[rank] = bytes;
        context.places[rank] = rank * bytes;
        context.types[rank] = MPI_BYTE;
      }
      measure(&context, &collectives[which]);
      if (!has_data) break;
    }
  }
  MPI_Comm_free(&ring);
  bench_finish();
  return 0;
}
