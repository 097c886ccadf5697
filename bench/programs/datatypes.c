// Non-contiguous data: pack, unpack and ping-pong of the layouts that programs send.
//
//   columnN    N adjacent columns of a 1024 x 1024 matrix of doubles (vector) faceX/Y/Z  a face of a 256^3
//   array of doubles, across the last, the middle and the first dimension indexed    blocks of 1 to 16
//   doubles at irregular places structs    array of {int, double, char[3]} particles  irregular list of
//   particles, three coordinates each (as molecular dynamics sends them) transpose  a 256 x 256 matrix of
//   doubles read by columns Series: <layout>_pack and _unpack (MPI_Pack, MPI_Unpack), _pingpong (the type at
//   both ends, half round trip), _loop (the same bytes moved from layout to layout by a plain C loop: what
//   direct copying could reach); and `commit` (create, commit and free a vector), `one_element` (half round
//   trip of one element of a small vector).
// --layouts=column1,faceZ,...    Values in us.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "sample.h"

enum {
  kMatrixSide = 1024,
  kArraySide = 256,
  kIndexedBlocks = 1000,
  kStructs = 4096,
  kParticles = 2000,
  kTurned = 256
};

// A layout as MPI sees it and as the plain loop does: blocks of bytes at places.
typedef struct {
  const char* name;
  MPI_Datatype type;
  int count;               // elements of `type`
  size_t extent;           // bytes from the first to past the last
  size_t *places, blocks;  // of the plain loop
  size_t block_bytes;      // 0: `lengths` holds one per block
  size_t* lengths;
  char *from, *to, *packed;
  int packed_bytes, position;
} Layout;

static void allocate(Layout* layout, size_t blocks, int is_irregular) {
  layout->blocks = blocks;
  layout->places = bench_memory(blocks * sizeof(size_t));
  layout->lengths = is_irregular ? bench_memory(blocks * sizeof(size_t)) : NULL;
}

static Layout make_column(const char* name, int columns) {
  Layout layout = {.name = name, .count = 1, .block_bytes = (size_t)columns * sizeof(double)};
  layout.extent = (size_t)kMatrixSide * kMatrixSide * sizeof(double);
  MPI_Type_vector(kMatrixSide, columns, kMatrixSide, MPI_DOUBLE, &layout.type);
  allocate(&layout, kMatrixSide, 0);
  for (size_t row = 0; row < kMatrixSide; ++row) layout.places[row] = row * kMatrixSide * sizeof(double);
  return layout;
}

static Layout make_face(const char* name, int across) {
  const size_t side = kArraySide, word = sizeof(double);
  Layout layout = {.name = name, .count = 1, .extent = side * side * side * word};
  if (across == 2) {  // one element of every row: side * side single doubles
    MPI_Type_vector((int)(side * side), 1, (int)side, MPI_DOUBLE, &layout.type);
    layout.block_bytes = word;
    allocate(&layout, side * side, 0);
    for (size_t i = 0; i < side * side; ++i) layout.places[i] = i * side * word;
  } else if (across == 1) {  // one row of every plane
    MPI_Type_vector((int)side, (int)side, (int)(side * side), MPI_DOUBLE, &layout.type);
    layout.block_bytes = side * word;
    allocate(&layout, side, 0);
    for (size_t i = 0; i < side; ++i) layout.places[i] = i * side * side * word;
  } else {
    MPI_Type_contiguous((int)(side * side), MPI_DOUBLE, &layout.type);
    layout.block_bytes = side * side * word;
    allocate(&layout, 1, 0);
    layout.places[0] = 0;
  }
  return layout;
}

static Layout make_indexed(void) {
  Layout layout = {.name = "indexed", .count = 1};
  allocate(&layout, kIndexedBlocks, 1);
  int lengths[kIndexedBlocks], places[kIndexedBlocks], at = 0;
  for (int i = 0; i < kIndexedBlocks; ++i) {
    lengths[i] = 1 + i * 7 % 16;
    places[i] = at;
    layout.lengths[i] = (size_t)lengths[i] * sizeof(double);
    layout.places[i] = (size_t)at * sizeof(double);
    at += lengths[i] + 1 + i * 5 % 9;
  }
  layout.extent = (size_t)at * sizeof(double);
  MPI_Type_indexed(kIndexedBlocks, lengths, places, MPI_DOUBLE, &layout.type);
  return layout;
}

static Layout make_structs(void) {
  Layout layout = {.name = "structs", .count = kStructs, .extent = kStructs * sizeof(Record)};
  layout.type = record_type();
  allocate(&layout, 3 * kStructs, 1);
  const size_t sizes[3] = {sizeof(int), sizeof(double), 3};
  const size_t places[3] = {offsetof(Record, number), offsetof(Record, value), offsetof(Record, text)};
  for (size_t i = 0; i < 3 * kStructs; ++i) {
    layout.places[i] = i / 3 * sizeof(Record) + places[i % 3];
    layout.lengths[i] = sizes[i % 3];
  }
  return layout;
}

static Layout make_particles(void) {
  Layout layout = {.name = "particles", .count = 1, .block_bytes = 3 * sizeof(double)};
  int places[kParticles];
  allocate(&layout, kParticles, 0);
  for (int i = 0; i < kParticles; ++i) {
    places[i] = 3 * (i * 3 + i * i % 3);
    layout.places[i] = (size_t)places[i] * sizeof(double);
  }
  layout.extent = (size_t)(9 * kParticles + 9) * sizeof(double);
  MPI_Type_create_indexed_block(kParticles, 3, places, MPI_DOUBLE, &layout.type);
  return layout;
}

static Layout make_transpose(void) {
  Layout layout = {.name = "transpose", .count = 1, .block_bytes = sizeof(double)};
  const size_t side = kTurned, word = sizeof(double);
  layout.extent = side * side * word;
  MPI_Datatype column;
  MPI_Type_vector(kTurned, 1, kTurned, MPI_DOUBLE, &column);
  MPI_Type_create_hvector(kTurned, 1, sizeof(double), column, &layout.type);
  MPI_Type_free(&column);
  allocate(&layout, side * side, 0);
  for (size_t i = 0; i < side * side; ++i) layout.places[i] = (i % side * side + i / side) * word;
  return layout;
}

static void pack(long iterations, void* opaque) {
  Layout* l = opaque;
  for (long i = 0; i < iterations; ++i) {
    l->position = 0;
    MPI_Pack(l->from, l->count, l->type, l->packed, l->packed_bytes, &l->position, MPI_COMM_WORLD);
  }
}

static void unpack(long iterations, void* opaque) {
  Layout* l = opaque;
  for (long i = 0; i < iterations; ++i) {
    l->position = 0;
    MPI_Unpack(l->packed, l->packed_bytes, &l->position, l->to, l->count, l->type, MPI_COMM_WORLD);
  }
}

static void ping_pong(long iterations, void* opaque) {
  const Layout* l = opaque;
  for (long i = 0; i < iterations; ++i)
    if (bench_rank == 0) {
      MPI_Send(l->from, l->count, l->type, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(l->to, l->count, l->type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(l->to, l->count, l->type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(l->from, l->count, l->type, 0, 1, MPI_COMM_WORLD);
    }
}

static void plain_loop(long iterations, void* opaque) {
  const Layout* l = opaque;
  for (long i = 0; i < iterations; ++i) {
    if (l->lengths)
      for (size_t k = 0; k < l->blocks; ++k)
        memcpy(l->to + l->places[k], l->from + l->places[k], l->lengths[k]);
    else if (l->block_bytes == sizeof(double))
      for (size_t k = 0; k < l->blocks; ++k)
        *(double*)(l->to + l->places[k]) = *(const double*)(l->from + l->places[k]);
    else
      for (size_t k = 0; k < l->blocks; ++k)
        memcpy(l->to + l->places[k], l->from + l->places[k], l->block_bytes);
    __asm__ volatile("" : : "r"(l->to) : "memory");
  }
}

// After a ping-pong the places of the layout hold the peer's data and the gaps are untouched.
static void check(Layout* l) {
  bench_fill(l->from, l->extent, 5);
  memset(l->to, 0, l->extent);
  ping_pong(1, l);
  for (size_t k = 0; k < l->blocks; ++k) {
    const size_t bytes = l->lengths ? l->lengths[k] : l->block_bytes;
    bench_expect(memcmp(l->to + l->places[k], l->from + l->places[k], bytes) == 0, l->name);
    memset(l->to + l->places[k], 0, bytes);
  }
  size_t touched = 0;
  for (size_t i = 0; i < l->extent; ++i) touched += l->to[i] != 0;
  bench_expect(touched == 0, "a gap of the layout was written");
}

static void measure(Layout* l) {
  static const struct {
    const char* suffix;
    bench_work work;
  } uses[] = {{"pack", pack}, {"unpack", unpack}, {"pingpong", ping_pong}, {"loop", plain_loop}};
  int bytes = 0;
  MPI_Type_commit(&l->type);
  MPI_Type_size(l->type, &bytes);
  bytes *= l->count;
  MPI_Pack_size(l->count, l->type, MPI_COMM_WORLD, &l->packed_bytes);
  l->from = bench_buffer(l->extent);
  l->to = bench_buffer(l->extent);
  l->packed = bench_memory((size_t)l->packed_bytes);
  check(l);
  for (int use = 0; use < 4; ++use) {
    char series[48] = "";
    strcat(strcat(strcat(series, l->name), "_"), uses[use].suffix);
    const bench_point point = {series, bytes, "us", uses[use].work == ping_pong ? 0.5e6 : 1e6, 0};
    bench_measure(&point, uses[use].work, l);
  }
  MPI_Type_free(&l->type);
  if (strcmp(bench_text("alloc", "c"), "mpi") == 0) return;  // such buffers stay until the end
  free(l->from);
  free(l->to);
  free(l->packed);
}

static void commit(long iterations, void* unused) {
  (void)unused;
  for (long i = 0; i < iterations; ++i) {
    MPI_Datatype type;
    MPI_Type_vector(100, 2, 5, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&type);
  }
}

static void measure_small(void) {
  const bench_point commit_point = {"commit", 1, "us", 1e6, 0},
                    element_point = {"one_element", 32, "us", 0.5e6, 0};
  bench_measure(&commit_point, commit, NULL);
  double from[32] = {0}, to[32] = {0};
  Layout small = {.name = "one_element", .count = 1, .from = (char*)from, .to = (char*)to};
  MPI_Type_vector(4, 1, 8, MPI_DOUBLE, &small.type);
  MPI_Type_commit(&small.type);
  bench_measure(&element_point, ping_pong, &small);
  MPI_Type_free(&small.type);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "datatypes");
  for (int which = 0; which < 10; ++which) {
    Layout layout = which == 0   ? make_column("column1", 1)
                    : which == 1 ? make_column("column2", 2)
                    : which == 2 ? make_column("column4", 4)
                    : which == 3 ? make_face("faceX", 2)
                    : which == 4 ? make_face("faceY", 1)
                    : which == 5 ? make_face("faceZ", 0)
                    : which == 6 ? make_indexed()
                    : which == 7 ? make_structs()
                    : which == 8 ? make_particles()
                                 : make_transpose();
    if (bench_wants("layouts", layout.name)) measure(&layout);
  }
  if (bench_wants("layouts", "small")) measure_small();
  bench_finish();
  return 0;
}
