// Ping-pong of non-contiguous data, from a layout to the same layout, in the states of data.h: us, half round
// trip.
//
//   column     one column of a 1024 x 1024 matrix of doubles
//   faceX/Y/Z  a face of a 64^3 array of doubles: single doubles, rows, or contiguous
//   list       4096 integers at irregular places
//   structs    4096 of {int, double, char[3]}
// --layouts=column,faceX,...   --mode=...
#include "data.h"
#include "record.h"

enum { kMatrixSide = 1024, kSide = 64, kItems = 4096, kLine = 64 };

// `block` bytes of data each at a place: every `stride` bytes, or where `places` says (in blocks).
typedef struct {
  const char* name;
  MPI_Datatype type;
  int count;      // elements of `type`
  size_t extent;  // bytes from the first to past the last
  size_t blocks, block, stride;
  int* places;
  char *send, *recv;
  size_t copies, turn;  // of the layout in memory, which messages rotate through
  int is_fresh;
} Layout;

static Layout strided(const char* name, int blocks, int doubles, int stride) {
  Layout l = {.name = name, .count = 1, .blocks = (size_t)blocks};
  l.block = (size_t)doubles * sizeof(double);
  l.stride = (size_t)stride * sizeof(double);
  l.extent = l.blocks * l.stride;
  MPI_Type_vector(blocks, doubles, stride, MPI_DOUBLE, &l.type);
  return l;
}

static Layout list(void) {
  Layout l = {.name = "list", .count = 1, .blocks = kItems, .block = sizeof(int)};
  l.places = bench_memory(kItems * sizeof *l.places);
  int at = 0;
  for (unsigned i = 0, random = 5; i < kItems; ++i, random = random * 1664525u + 1013904223u)
    l.places[i] = at += 1 + (int)(random >> 29);
  l.extent = (size_t)(at + 1) * l.block;
  MPI_Type_create_indexed_block(kItems, 1, l.places, MPI_INT, &l.type);
  return l;
}

static Layout structs(void) {
  Layout l = {.name = "structs", .count = kItems, .blocks = kItems, .block = sizeof(int)};
  l.stride = sizeof(Record);
  l.extent = kItems * sizeof(Record);
  l.type = record_type();
  return l;
}

static size_t place(const Layout* l, size_t block) {
  return l->places ? (size_t)l->places[block] * l->block : block * l->stride;
}

// A word in each line or block is enough to bring the data into this CPU's cache, as a program does.
static void produce(const Layout* l, char* data, long value) {
  for (size_t k = 0; l->is_fresh && k < l->blocks; ++k)
    for (size_t i = 0; i < l->block; i += kLine) memcpy(data + place(l, k) + i, &value, sizeof(int));
}

static void consume(const Layout* l, const char* data) {
  unsigned sum = 0, word;
  for (size_t k = 0; l->is_fresh && k < l->blocks; ++k)
    for (size_t i = 0; i < l->block; i += kLine) {
      memcpy(&word, data + place(l, k) + i, sizeof word);
      sum += word;
    }
  data_sink = sum;
}

static void ping_pong(long iterations, void* opaque) {
  Layout* l = opaque;
  for (long i = 0; i < iterations; ++i) {
    l->turn = (l->turn + 1) % l->copies;
    char *send = l->send + l->turn * l->extent, *recv = l->recv + l->turn * l->extent;
    if (bench_rank == 0) {
      produce(l, send, i);
      MPI_Send(send, l->count, l->type, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(recv, l->count, l->type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      consume(l, recv);
    } else {
      MPI_Recv(recv, l->count, l->type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      consume(l, recv);
      produce(l, send, i);
      MPI_Send(send, l->count, l->type, 0, 1, MPI_COMM_WORLD);
    }
  }
}

// After a ping-pong the places of the layout hold the peer's data, and the first gap is untouched.
static void check(Layout* l) {
  bench_fill(l->send, l->extent, 5);
  memset(l->recv, 0, l->extent);
  l->turn = l->copies - 1;
  ping_pong(1, l);
  for (size_t k = 0; k < l->blocks; ++k)
    bench_expect(memcmp(l->recv + place(l, k), l->send + place(l, k), l->block) == 0, l->name);
  const size_t gap = l->places ? 0 : l->block;
  bench_expect(l->is_fresh || gap >= l->stride || l->recv[gap] == 0, "a gap of the layout was written");
}

static void measure(Layout* l, const Data* data) {
  int bytes = 0;
  MPI_Type_commit(&l->type);
  MPI_Type_size(l->type, &bytes);
  l->is_fresh = data->is_fresh;
  l->copies = data->pool_bytes ? data->pool_bytes / l->extent : 1;
  l->send = data->send;
  l->recv = data->recv;
  check(l);
  const bench_point point = {data_series(l->name), (double)bytes * l->count, "us", 0.5e6, 0};
  bench_measure(&point, ping_pong, l);
  MPI_Type_free(&l->type);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "strided");
  Layout layouts[] = {strided("column", kMatrixSide, 1, kMatrixSide),
                      strided("faceX", kSide * kSide, 1, kSide),
                      strided("faceY", kSide, kSide, kSide * kSide),
                      strided("faceZ", 1, kSide * kSide, kSide * kSide),
                      list(),
                      structs()};
  const Data data = data_open(layouts[0].extent, 1, 0);  // the column's is the largest
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts && bench_ranks == 2; ++i)
    if (bench_wants("layouts", layouts[i].name)) measure(&layouts[i], &data);
  bench_finish();
  return 0;
}
