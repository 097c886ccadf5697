// Halo exchange of a 2-D grid of ranks by several methods, after the HALO benchmark of ocean models.
//
// The ranks form a torus; every exchange swaps a strip with the northern and the southern neighbour and then
// with the western and the eastern one (so that corners arrive too).  x is the bytes of one strip, the value
// us per exchange.  --methods=sendrecv,nonblocking,persistent,persistent_receives_first
#include <string.h>

#include "sample.h"

enum { kSides = 4, kNorth = 0, kSouth, kWest, kEast };

typedef struct {
  char *send[kSides], *recv[kSides];
  int neighbour[kSides];
  int bytes;
  MPI_Request persistent[2 * kSides];  // per direction: two receives, two sends
} Context;

static int opposite(int side) { return side ^ 1; }

static void exchange_sendrecv(long iterations, void* opaque) {
  Context* c = opaque;
  for (long i = 0; i < iterations; ++i)
    for (int side = 0; side < kSides; ++side)
      MPI_Sendrecv(c->send[side], c->bytes, MPI_BYTE, c->neighbour[side], side, c->recv[opposite(side)],
                   c->bytes, MPI_BYTE, c->neighbour[opposite(side)], side, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange_nonblocking(long iterations, void* opaque) {
  Context* c = opaque;
  for (long i = 0; i < iterations; ++i)
    for (int first = 0; first < kSides; first += 2) {
      MPI_Request requests[4];
      for (int side = first; side < first + 2; ++side) {
        MPI_Irecv(c->recv[side], c->bytes, MPI_BYTE, c->neighbour[side], opposite(side), MPI_COMM_WORLD,
                  &requests[side - first]);
        MPI_Isend(c->send[side], c->bytes, MPI_BYTE, c->neighbour[side], side, MPI_COMM_WORLD,
                  &requests[2 + side - first]);
      }
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
}

static void exchange_persistent(long iterations, void* opaque) {
  Context* c = opaque;
  for (long i = 0; i < iterations; ++i)
    for (int first = 0; first < 2 * kSides; first += 4) {
      MPI_Startall(4, &c->persistent[first]);
      MPI_Waitall(4, &c->persistent[first], MPI_STATUSES_IGNORE);
    }
}

// All receives of both directions are started before anything is sent.
static void exchange_receives_first(long iterations, void* opaque) {
  Context* c = opaque;
  for (long i = 0; i < iterations; ++i) {
    for (int first = 0; first < 2 * kSides; first += 4) MPI_Startall(2, &c->persistent[first]);
    for (int first = 0; first < 2 * kSides; first += 4) {
      MPI_Startall(2, &c->persistent[first + 2]);
      MPI_Waitall(4, &c->persistent[first], MPI_STATUSES_IGNORE);
    }
  }
}

static const struct {
  const char* name;
  bench_work exchange;
} methods[] = {{"sendrecv", exchange_sendrecv},
               {"nonblocking", exchange_nonblocking},
               {"persistent", exchange_persistent},
               {"persistent_receives_first", exchange_receives_first}};
enum { kMethods = sizeof methods / sizeof methods[0] };

static void find_neighbours(Context* c) {
  int down = 1;
  for (int n = 1; n * n <= bench_ranks; ++n)
    if (bench_ranks % n == 0) down = n;
  const int across = bench_ranks / down, row = bench_rank / across, column = bench_rank % across;
  c->neighbour[kNorth] = (row + down - 1) % down * across + column;
  c->neighbour[kSouth] = (row + 1) % down * across + column;
  c->neighbour[kWest] = row * across + (column + across - 1) % across;
  c->neighbour[kEast] = row * across + (column + 1) % across;
}

static void make_persistent(Context* c) {
  for (int side = 0; side < kSides; ++side) {
    const int at = side / 2 * 4 + side % 2;
    MPI_Recv_init(c->recv[side], c->bytes, MPI_BYTE, c->neighbour[side], opposite(side), MPI_COMM_WORLD,
                  &c->persistent[at]);
    MPI_Send_init(c->send[side], c->bytes, MPI_BYTE, c->neighbour[side], side, MPI_COMM_WORLD,
                  &c->persistent[at + 2]);
  }
}

static void check(Context* c, bench_work exchange) {
  for (int side = 0; side < kSides; ++side) {
    bench_fill(c->send[side], (size_t)c->bytes, (unsigned)(bench_rank * kSides + side));
    memset(c->recv[side], 0, (size_t)c->bytes);
  }
  exchange(1, c);
  for (int side = 0; side < kSides; ++side)
    bench_verify(c->recv[side], (size_t)c->bytes, (unsigned)(c->neighbour[side] * kSides + opposite(side)));
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "halo");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 16, 1 << 20, 16);
  Context context;
  for (int side = 0; side < kSides; ++side) {
    context.send[side] = bench_buffer((size_t)bench_size_max(sizes, count));
    context.recv[side] = bench_buffer((size_t)bench_size_max(sizes, count));
  }
  find_neighbours(&context);
  for (int i = 0; i < count; ++i) {
    context.bytes = (int)sizes[i];
    make_persistent(&context);
    for (int method = 0; method < kMethods; ++method) {
      if (!bench_wants("methods", methods[method].name)) continue;
      check(&context, methods[method].exchange);
      const bench_point point = {methods[method].name, context.bytes, "us", 1e6, 0};
      bench_measure(&point, methods[method].exchange, &context);
    }
    for (int k = 0; k < 2 * kSides; ++k) MPI_Request_free(&context.persistent[k]);
  }
  bench_finish();
  return 0;
}
