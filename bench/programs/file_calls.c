// Writing and reading a file by a call for each piece, as IOR and IMB-IO do: MB/s of all ranks.
//
// --patterns=...
//   plain        pwrite and pread, each rank in its own part of the file
//   segmented    the same by MPI_File_write_at
//   random       its pieces in random order
//   individual   by the rank's own pointer
//   private      as segmented, a file for each rank
//   collective   as segmented, each call by all ranks together
//   shared       by the shared pointer: in the order of coming
//   ordered      by the shared pointer: in the order of ranks
// --sizes=4096,262144  bytes of a piece
// --mb=8               of a rank
// --file=NAME          default /dev/shm/dunlin-bench-file
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "sample.h"

typedef struct Context {
  const struct Pattern* pattern;
  MPI_File file;
  int descriptor;
  char* memory;
  int bytes, piece, is_read;
} Context;

typedef struct Pattern {
  const char* name;
  void (*move)(const Context*, MPI_Offset place, char* at);  // one piece
  int is_random, is_private, is_shared;
} Pattern;

static void move_plain(const Context* c, MPI_Offset place, char* at) {
  const ssize_t moved = c->is_read ? pread(c->descriptor, at, (size_t)c->piece, (off_t)place)
                                   : pwrite(c->descriptor, at, (size_t)c->piece, (off_t)place);
  bench_expect(moved == c->piece, "bytes of a plain call");
}
static void move_at(const Context* c, MPI_Offset place, char* at) {
  if (c->is_read)
    MPI_File_read_at(c->file, place, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
  else
    MPI_File_write_at(c->file, place, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
}
static void move_at_all(const Context* c, MPI_Offset place, char* at) {
  if (c->is_read)
    MPI_File_read_at_all(c->file, place, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
  else
    MPI_File_write_at_all(c->file, place, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
}
static void move_next(const Context* c, MPI_Offset place, char* at) {
  (void)place;
  if (c->is_read)
    MPI_File_read(c->file, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
  else
    MPI_File_write(c->file, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
}
static void move_shared(const Context* c, MPI_Offset place, char* at) {
  (void)place;
  if (c->is_read)
    MPI_File_read_shared(c->file, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
  else
    MPI_File_write_shared(c->file, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
}
static void move_ordered(const Context* c, MPI_Offset place, char* at) {
  (void)place;
  if (c->is_read)
    MPI_File_read_ordered(c->file, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
  else
    MPI_File_write_ordered(c->file, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
}

static const Pattern patterns[] = {
    {"plain", move_plain, 0, 0, 0},   {"segmented", move_at, 0, 0, 0},
    {"random", move_at, 1, 0, 0},     {"individual", move_next, 0, 0, 0},
    {"private", move_at, 0, 1, 0},    {"collective", move_at_all, 0, 0, 0},
    {"shared", move_shared, 0, 0, 1}, {"ordered", move_ordered, 0, 0, 1},
};
enum { kPatterns = sizeof patterns / sizeof patterns[0] };

static void repeat(long iterations, void* opaque) {
  const Context* c = opaque;
  const long pieces = c->bytes / c->piece;
  const MPI_Offset mine = c->pattern->is_private ? 0 : (MPI_Offset)bench_rank * c->bytes;
  for (long iteration = 0; iteration < iterations; ++iteration) {
    if (c->pattern->is_shared)
      MPI_File_seek_shared(c->file, 0, MPI_SEEK_SET);
    else if (c->pattern->move == move_next)
      MPI_File_seek(c->file, mine, MPI_SEEK_SET);
    for (long i = 0; i < pieces; ++i) {
      // A prime: all pieces in another order.
      const long piece = c->pattern->is_random ? (long)(i * 2654435761L % pieces) : i;
      const MPI_Offset at = (MPI_Offset)piece * c->piece;
      c->pattern->move(c, mine + at, c->memory + at);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// With the shared pointer nobody knows which pieces come back, so all pieces are equal.
static void each_part(const Context* c, void (*use)(char* at, size_t bytes, unsigned seed)) {
  const int bytes = c->pattern->is_shared ? c->piece : c->bytes;
  const unsigned seed = c->pattern->is_shared ? 1 : (unsigned)bench_rank + 1;
  for (int at = 0; at + bytes <= c->bytes; at += bytes) use(c->memory + at, (size_t)bytes, seed);
}
static void fill(char* at, size_t bytes, unsigned seed) { bench_fill(at, bytes, seed); }
static void verify(char* at, size_t bytes, unsigned seed) { bench_verify(at, bytes, seed); }
static void clear(char* at, size_t bytes, unsigned seed) { (void)seed, bench_fill(at, bytes, 0); }

static void measure(Context* c, const char* path) {
  char name[512];
  snprintf(name, sizeof name, c->pattern->is_private ? "%s-%d" : "%s", path, bench_rank);
  c->descriptor = open(name, O_RDWR | O_CREAT, 0666);
  MPI_File_open(c->pattern->is_private ? MPI_COMM_SELF : MPI_COMM_WORLD, name,
                MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &c->file);
  each_part(c, fill);
  for (c->is_read = 0; c->is_read < 2; ++c->is_read) {
    char series[64];
    snprintf(series, sizeof series, "%s_%s", c->pattern->name, c->is_read ? "read" : "write");
    const bench_point point = {series, c->piece, "MB/s", (double)c->bytes * bench_ranks / 1e6, 1};
    if (c->is_read) each_part(c, clear);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_measure(&point, repeat, c);
    each_part(c, verify);
  }
  MPI_File_close(&c->file);
  close(c->descriptor);
  if (c->pattern->is_private || bench_rank == 0) unlink(name);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "file_calls");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 4096, 262144, 64);
  Context c = {NULL, MPI_FILE_NULL, -1, NULL, (int)bench_option("mb", 8) << 20, 0, 0};
  c.memory = bench_memory((size_t)c.bytes);
  for (int which = 0; which < kPatterns; ++which)
    for (int s = 0; s < count; ++s) {
      c.pattern = &patterns[which];
      c.piece = (int)sizes[s];
      if (bench_wants("patterns", c.pattern->name))
        measure(&c, bench_text("file", "/dev/shm/dunlin-bench-file"));
    }
  bench_finish();
  return 0;
}
