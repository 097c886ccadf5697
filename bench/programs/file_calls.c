// Writing and reading a file by a call for each piece, as IOR and IMB-IO do: MB/s of all ranks.
//
// --patterns=...             name in IMB-IO
//   plain                    pwrite and pread, each rank in its own part of the file
//   plain_random             its pieces in random order
//   plain_strided            the ranks' pieces in turn
//   plain_private            a file for each rank
//   segmented                as plain, by MPI_File_write_at
//   random                   as plain_random
//   private       P_priv     as plain_private
//   strided       P_expl     as plain_strided
//   strided_all   C_expl     the same, each call by all ranks together
//   collective               as segmented, each call by all ranks together
//   individual               by the rank's own pointer, each rank in its own part of the file
//   view          P_indv     the ranks' pieces in turn, by the rank's own pointer and a view
//   view_all      C_indv     the same, each call by all ranks together
//   shared        P_shared   by the shared pointer: in the order of coming
//   ordered       C_shared   by the shared pointer: in the order of ranks
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

typedef enum { kInOrder, kRandom, kInTurn } Order;

typedef struct Pattern {
  const char* name;
  void (*move)(const Context*, MPI_Offset place, char* at);  // one piece
  Order order;
  enum { kOneFile, kPrivate, kView, kShared } place;  // kShared: of the shared pointer
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
static void move_next_all(const Context* c, MPI_Offset place, char* at) {
  (void)place;
  if (c->is_read)
    MPI_File_read_all(c->file, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
  else
    MPI_File_write_all(c->file, at, c->piece, MPI_BYTE, MPI_STATUS_IGNORE);
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
    {"plain", move_plain, kInOrder, kOneFile},
    {"plain_random", move_plain, kRandom, kOneFile},
    {"plain_strided", move_plain, kInTurn, kOneFile},
    {"plain_private", move_plain, kInOrder, kPrivate},
    {"segmented", move_at, kInOrder, kOneFile},
    {"random", move_at, kRandom, kOneFile},
    {"private", move_at, kInOrder, kPrivate},
    {"strided", move_at, kInTurn, kOneFile},
    {"strided_all", move_at_all, kInTurn, kOneFile},
    {"collective", move_at_all, kInOrder, kOneFile},
    {"individual", move_next, kInOrder, kOneFile},
    {"view", move_next, kInOrder, kView},
    {"view_all", move_next_all, kInOrder, kView},
    {"shared", move_shared, kInOrder, kShared},
    {"ordered", move_ordered, kInOrder, kShared},
};
enum { kPatterns = sizeof patterns / sizeof patterns[0] };

/// Where the i-th of a rank's `pieces` pieces lies, in its memory and in the file.
static long piece_of(const Context* c, long i, long pieces) {
  // A prime: all pieces in another order.
  return c->pattern->order == kRandom ? (long)(i * 2654435761L % pieces) : i;
}
static MPI_Offset place_of(const Context* c, long piece) {
  if (c->pattern->order == kInTurn) return ((MPI_Offset)piece * bench_ranks + bench_rank) * c->piece;
  const int is_mine = c->pattern->place == kPrivate || c->pattern->place == kView;  // all that is seen
  return (is_mine ? 0 : (MPI_Offset)bench_rank * c->bytes) + (MPI_Offset)piece * c->piece;
}

static void repeat(long iterations, void* opaque) {
  const Context* c = opaque;
  const long pieces = c->bytes / c->piece;
  for (long iteration = 0; iteration < iterations; ++iteration) {
    if (c->pattern->place == kShared)
      MPI_File_seek_shared(c->file, 0, MPI_SEEK_SET);
    else
      MPI_File_seek(c->file, place_of(c, 0), MPI_SEEK_SET);
    for (long i = 0; i < pieces; ++i) {
      const long piece = piece_of(c, i, pieces);
      c->pattern->move(c, place_of(c, piece), c->memory + piece * c->piece);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// With the shared pointer nobody knows which pieces come back, so all pieces are equal.
static void each_part(const Context* c, void (*use)(char* at, size_t bytes, unsigned seed)) {
  const int bytes = c->pattern->place == kShared ? c->piece : c->bytes;
  const unsigned seed = c->pattern->place == kShared ? 1 : (unsigned)bench_rank + 1;
  for (int at = 0; at + bytes <= c->bytes; at += bytes) use(c->memory + at, (size_t)bytes, seed);
}
static void fill(char* at, size_t bytes, unsigned seed) { bench_fill(at, bytes, seed); }
static void verify(char* at, size_t bytes, unsigned seed) { bench_verify(at, bytes, seed); }
static void clear(char* at, size_t bytes, unsigned seed) { (void)seed, bench_fill(at, bytes, 0); }

static void set_view(const Context* c) {
  MPI_Datatype piece, filetype;
  MPI_Type_contiguous(c->piece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)c->piece * bench_ranks, &filetype);
  MPI_Type_commit(&filetype);
  MPI_File_set_view(c->file, (MPI_Offset)bench_rank * c->piece, MPI_BYTE, filetype, "native", MPI_INFO_NULL);
  MPI_Type_free(&filetype);
  MPI_Type_free(&piece);
}

static void measure(Context* c, const char* path) {
  char name[512];
  snprintf(name, sizeof name, c->pattern->place == kPrivate ? "%s-%d" : "%s", path, bench_rank);
  c->descriptor = open(name, O_RDWR | O_CREAT, 0666);
  MPI_File_open(c->pattern->place == kPrivate ? MPI_COMM_SELF : MPI_COMM_WORLD, name,
                MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &c->file);
  if (c->pattern->place == kView) set_view(c);
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
  if (c->pattern->place == kPrivate || bench_rank == 0) unlink(name);
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
