// Writing and reading one file together: MB/s of all ranks.
//
// --patterns=...
//   contiguous     8 MB a rank, one behind the other
//   new            the same, written to a file that is cut to nothing before each time
//   interleaved    the ranks' pieces in turn, collectively
//   strided        the same, each rank alone
//   block          a block of a 3-D array of doubles, collectively
//   plain, plain_new, plain_strided, plain_block  the same by one pread or pwrite for each piece of the file
//   open           MPI_File_open and MPI_File_close, us
// Each pattern has a file of its own making; its time is of writing and reading that again and again.
// --sizes=8,64,4096    bytes of a piece, for interleaved and strided; plain from 512 on
// --mb=8               of a rank
// --turns=1            all patterns so many times, in turn
// --file=NAME          default /dev/shm/dunlin-bench-file
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample.h"

/// A rank's part of the file: a cube of pieces, at `first` + i * `far` + j * `near`.
typedef struct {
  off_t first, far, near;
  int rows, pieces, piece;  // bytes of a piece
} Runs;

typedef struct {
  const char* path;
  MPI_File file;
  int descriptor;
  char* memory;
  int bytes;
  int is_read, is_collective, is_cut;
  Runs runs;  // of plain calls
} Context;

static void transfer(const Context* c) {
  MPI_File_seek(c->file, 0, MPI_SEEK_SET);
  if (c->is_collective && c->is_read)
    MPI_File_read_all(c->file, c->memory, c->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  else if (c->is_collective)
    MPI_File_write_all(c->file, c->memory, c->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  else if (c->is_read)
    MPI_File_read(c->file, c->memory, c->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  else
    MPI_File_write(c->file, c->memory, c->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void repeat(long iterations, void* opaque) {
  const Context* c = opaque;
  for (long i = 0; i < iterations; ++i) {
    if (c->is_cut) MPI_File_set_size(c->file, 0);
    transfer(c);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void move_plain(const Context* c, char* memory, off_t offset, int bytes) {
  for (ssize_t done = 0, n; done < bytes; done += n) {
    n = c->is_read ? pread(c->descriptor, memory + done, (size_t)(bytes - done), offset + done)
                   : pwrite(c->descriptor, memory + done, (size_t)(bytes - done), offset + done);
    if (n <= 0) break;
  }
}

static void repeat_plain(long iterations, void* opaque) {
  const Context* c = opaque;
  const Runs* r = &c->runs;
  for (long i = 0; i < iterations; ++i) {
    char* memory = c->memory;
    if (c->is_cut && bench_rank == 0 && ftruncate(c->descriptor, 0) != 0) perror(c->path);
    if (c->is_cut) MPI_Barrier(MPI_COMM_WORLD);
    for (int row = 0; row < r->rows; ++row)
      for (int k = 0; k < r->pieces; ++k, memory += r->piece)
        move_plain(c, memory, r->first + row * r->far + k * r->near, r->piece);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void repeat_open(long iterations, void* opaque) {
  Context* c = opaque;
  for (long i = 0; i < iterations; ++i) {
    MPI_File_open(MPI_COMM_WORLD, c->path, MPI_MODE_RDWR, MPI_INFO_NULL, &c->file);
    MPI_File_close(&c->file);
  }
}

/// The file is new for each pattern.
static void remove_file(const Context* c) {
  if (bench_rank == 0) unlink(c->path);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Writes, then reads, and checks what was read.
static void measure(Context* c, const char* pattern, double x, bench_work work) {
  bench_fill(c->memory, (size_t)c->bytes, (unsigned)bench_rank + 1);
  for (c->is_read = 0; c->is_read < (c->is_cut ? 1 : 2); ++c->is_read) {
    char series[64];
    const char* const direction = c->is_read ? "read" : "write";
    snprintf(series, sizeof series, "%s%s_%s", pattern, c->is_cut ? "_new" : "", direction);
    const bench_point point = {series, x, "MB/s", (double)c->bytes * bench_ranks / 1e6, 1};
    if (c->is_read) memset(c->memory, 0, (size_t)c->bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_measure(&point, work, c);
    bench_verify(c->memory, (size_t)c->bytes, (unsigned)bench_rank + 1);
  }
}

/// Every rank's pieces of `piece` bytes, those of all ranks in turn.
static MPI_Datatype interleaved_type(int piece, int bytes) {
  MPI_Datatype vector, filetype;
  MPI_Type_vector(bytes / piece, piece, piece * bench_ranks, MPI_BYTE, &vector);
  MPI_Type_create_resized(vector, 0, (MPI_Aint)bytes * bench_ranks, &filetype);
  MPI_Type_commit(&filetype);
  MPI_Type_free(&vector);
  return filetype;
}

/// A block of a cube of doubles, as large as `bytes`, cut in three directions.
static MPI_Datatype block_type(int* bytes, Runs* runs) {
  int parts[3] = {0, 0, 0}, sizes[3], subsizes[3], starts[3], rest = bench_rank, edge = 1;
  MPI_Datatype filetype;
  MPI_Dims_create(bench_ranks, 3, parts);
  while ((edge + 1) * (edge + 1) * (edge + 1) * 8 <= *bytes) ++edge;
  for (int i = 2; i >= 0; --i) {
    sizes[i] = edge * parts[i];
    subsizes[i] = edge;
    starts[i] = rest % parts[i] * edge;
    rest /= parts[i];
  }
  *bytes = edge * edge * edge * 8;
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &filetype);
  MPI_Type_commit(&filetype);
  const off_t near = 8 * (off_t)sizes[2], far = near * sizes[1];
  *runs = (Runs){starts[0] * far + starts[1] * near + 8 * starts[2], far, near, edge, edge, 8 * edge};
  // Rows that follow each other in the file are one piece, as in the view.
  if (sizes[2] == edge) runs->piece = 8 * edge * edge, runs->pieces = 1;
  if (sizes[1] == edge && runs->pieces == 1) runs->piece *= edge, runs->rows = 1;
  return filetype;
}

static void measure_view(Context* c, const char* pattern, double x, MPI_Offset disp, MPI_Datatype filetype,
                         int is_collective) {
  remove_file(c);
  MPI_File_open(MPI_COMM_WORLD, c->path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &c->file);
  MPI_File_set_view(c->file, disp, MPI_BYTE, filetype, "native", MPI_INFO_NULL);
  c->is_collective = is_collective;
  measure(c, pattern, x, repeat);
  MPI_File_close(&c->file);
}

static void measure_plain(Context* c, const char* pattern, double x, Runs runs) {
  remove_file(c);
  c->descriptor = open(c->path, O_RDWR | O_CREAT, 0666);
  c->runs = runs;
  measure(c, pattern, x, repeat_plain);
  close(c->descriptor);
}

static void measure_pieces(Context* c, int piece) {
  MPI_Datatype filetype = interleaved_type(piece, c->bytes);
  const MPI_Offset mine = (MPI_Offset)piece * bench_rank;
  if (bench_wants("patterns", "interleaved")) measure_view(c, "interleaved", piece, mine, filetype, 1);
  if (bench_wants("patterns", "strided")) measure_view(c, "strided", piece, mine, filetype, 0);
  if (piece >= 512 && bench_wants("patterns", "plain_strided"))
    measure_plain(c, "plain_strided", piece,
                  (Runs){mine, 0, (off_t)piece * bench_ranks, 1, c->bytes / piece, piece});
  MPI_Type_free(&filetype);
}

static void measure_block(Context c) {
  Runs runs;
  MPI_Datatype filetype = block_type(&c.bytes, &runs);
  if (bench_wants("patterns", "block")) measure_view(&c, "block", c.bytes, 0, filetype, 1);
  if (bench_wants("patterns", "plain_block")) measure_plain(&c, "plain_block", c.bytes, runs);
  MPI_Type_free(&filetype);
}

static void measure_open(Context* c) {
  const bench_point point = {"open", 0, "us", 1e6, 0};
  MPI_File_open(MPI_COMM_WORLD, c->path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &c->file);
  MPI_File_close(&c->file);
  bench_measure(&point, repeat_open, c);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "files");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 8, 4096, 8);
  const int bytes = (int)bench_option("mb", 8) << 20;
  Context c = {.path = bench_text("file", "/dev/shm/dunlin-bench-file"), .descriptor = -1, .bytes = bytes};
  const MPI_Offset mine = (MPI_Offset)bytes * bench_rank;
  c.memory = bench_memory((size_t)bytes);
  for (long turn = 0; turn < bench_option("turns", 1); ++turn) {
    if (bench_wants("patterns", "plain"))
      measure_plain(&c, "plain", bytes, (Runs){mine, 0, 0, 1, 1, bytes});
    if (bench_wants("patterns", "contiguous")) measure_view(&c, "contiguous", bytes, mine, MPI_BYTE, 1);
    c.is_cut = 1;
    if (bench_wants("patterns", "plain_new"))
      measure_plain(&c, "plain", bytes, (Runs){mine, 0, 0, 1, 1, bytes});
    if (bench_wants("patterns", "new")) measure_view(&c, "contiguous", bytes, mine, MPI_BYTE, 1);
    c.is_cut = 0;
    for (int s = 0; s < count; ++s) measure_pieces(&c, (int)sizes[s]);
    measure_block(c);
    if (bench_wants("patterns", "open")) measure_open(&c);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  remove_file(&c);
  bench_finish();
  return 0;
}
