// Exchange of an adaptive mesh of blocks, in the pattern of MiniAMR.
//
// Every rank owns blocks of different refinement.  A stage swaps faces between neighbouring blocks (whole
// faces between equals, quarter faces between a fine and a coarse block), all messages to one rank packed
// into one. After some stages the mesh is refined: an allreduce over an array of block counts, then blocks
// move to even out the load.  x is blocks per rank, the value ms per refinement period.
//
// The document that asks for this pattern (docs/sources.md, X8) gives no counts: it names MiniAMR, 16 and 20
// ranks of a node, and how much faster it became.  All numbers here are ours, not those of an input of
// MiniAMR: chosen for faces of 16 KB, whole blocks of 160 KB and reductions of 160 bytes.
#include "sample.h"

enum {
  kCells = 10,      // of a block's edge
  kVariables = 20,  // per cell
  kStages = 20,     // between refinements
  kRanksMax = 1024,
  kMovedBlocks = 4,
  kReductions = 3,  // sums over the mesh, each over all variables
};

typedef struct {
  int blocks;
  double *send, *recv;
} Context;

static size_t face_count(void) { return (size_t)kCells * kCells * kVariables; }

// How much block `index` hands to its neighbour on the next rank, in doubles.
static size_t part_of_face(int index) { return index % 3 == 0 ? face_count() / 4 : face_count(); }

static size_t pack(const Context* c, int direction) {
  size_t used = 0;
  for (int block = 0; block < c->blocks; ++block) {
    const size_t count = part_of_face(block);
    for (size_t i = 0; i < count; ++i) c->send[used + i] = (double)(block + direction) + (double)i;
    used += count;
  }
  return used;
}

static void stage(const Context* c) {
  for (int direction = 0; direction < 2; ++direction) {
    const int step = direction ? 1 : bench_ranks - 1;
    const int to = (bench_rank + step) % bench_ranks, from = (bench_rank + bench_ranks - step) % bench_ranks;
    const int count = (int)pack(c, direction);
    MPI_Request requests[2];
    MPI_Irecv(c->recv, count, MPI_DOUBLE, from, direction, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(c->send, count, MPI_DOUBLE, to, direction, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    bench_expect(c->recv[count - 1] == c->send[count - 1], "a face");
  }
}

static void refine(const Context* c) {
  int mine[kRanksMax] = {0}, all[kRanksMax];
  const int count = bench_ranks < kRanksMax ? bench_ranks : kRanksMax;
  mine[bench_rank] = c->blocks;
  MPI_Allreduce(mine, all, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  bench_expect(all[count - 1] == c->blocks, "the block counts");
  const int block = kCells * kCells * kCells * kVariables;
  for (int i = 0; i < kMovedBlocks; ++i)
    MPI_Sendrecv(c->send, block, MPI_DOUBLE, (bench_rank + 1) % bench_ranks, 5, c->recv, block, MPI_DOUBLE,
                 (bench_rank + bench_ranks - 1) % bench_ranks, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void period(long periods, void* opaque) {
  const Context* c = opaque;
  double sums[kVariables] = {0}, totals[kVariables];
  for (long i = 0; i < periods; ++i) {
    for (int k = 0; k < kStages; ++k) stage(c);
    for (int k = 0; k < kReductions; ++k)
      MPI_Allreduce(sums, totals, kVariables, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    refine(c);
  }
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "refinement");
  Context context = {(int)bench_option("blocks", 30), NULL, NULL};
  size_t room = face_count() * (size_t)context.blocks;
  const size_t block = (size_t)kCells * kCells * kCells * kVariables;
  room = (room > block ? room : block) * sizeof(double);
  context.send = bench_buffer(room);
  context.recv = bench_buffer(room);
  const bench_point point = {"period", context.blocks, "ms", 1e3, 0};
  bench_measure(&point, period, &context);
  bench_finish();
  return 0;
}
