// What the first message of a new buffer costs beside the second: mapping, registration, first use of pages.
//
// --new: which buffer has never been in a message; the other side's has
//   sent        of rank 0, which has written it         received    of rank 1, which has written it
//   untouched   of rank 1, which nobody has touched     static      both, parts of a static array
// --sizes: bytes   --repeats: new buffers per size
// The value is us from the send to the receiver's acknowledgement; `ratio` is first over second.  The data is
// written anew before each of the two, so that they differ by nothing else.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

static double transfer(char* data, int bytes) {
  char token = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = bench_now();
  if (bench_rank == 0) {
    MPI_Send(data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(data, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&token, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
  }
  return bench_now() - start;
}

typedef enum { SENT, RECEIVED, UNTOUCHED, STATIC, KINDS } Kind;
static const char* const names[KINDS] = {"sent", "received", "untouched", "static"};

enum { kStaticBytes = 32 << 20 };
static char static_data[kStaticBytes];
static size_t static_used;

static Kind kind_of(const char* name) {
  for (int each = 0; each < KINDS; ++each)
    if (strcmp(name, names[each]) == 0) return (Kind)each;
  fprintf(stderr, "--new=%s: sent, received, untouched or static\n", name);
  exit(2);
}

// New memory where this rank is to have it, which is kept until the end, or the next would not be new.
static char* new_buffer(Kind kind, char* old, int bytes) {
  if (kind == STATIC) {
    char* data = static_data + static_used;
    static_used += (size_t)bytes;
    return data;
  }
  if ((kind == SENT) != (bench_rank == 0)) return old;
  return kind == UNTOUCHED ? malloc((size_t)bytes) : bench_memory((size_t)bytes);
}

static double transfer_written(Kind kind, char* data, int bytes, unsigned seed) {
  const unsigned written = bench_rank == 0 ? seed : seed + 1;
  if (bench_rank == 0 || kind != UNTOUCHED) bench_fill(data, (size_t)bytes, written);
  const double us = transfer(data, bytes) * 1e6;
  if (bench_rank == 1) bench_verify(data, (size_t)bytes, seed);
  return us;
}

static void measure(Kind kind, char* old, int bytes, unsigned seed) {
  char* data = new_buffer(kind, old, bytes);
  transfer(old, bytes);  // the caches have lost the old buffer meanwhile
  const double before = bench_probe();
  const double first = transfer_written(kind, data, bytes, seed);
  const double second = transfer_written(kind, data, bytes, seed + 2);
  const double after = bench_probe();
  bench_sample_probed("first", bytes, first, "us", before, after);
  bench_sample_probed("second", bytes, second, "us", before, after);
  bench_sample_probed("ratio", bytes, first / second, "times", before, after);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "first_message");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 256 << 10, 16 << 20, 4);
  const Kind kind = kind_of(bench_text("new", "sent"));
  const long repeats = bench_option("repeats", 5);
  char* old = bench_memory((size_t)bench_size_max(sizes, count));
  for (int i = 0; i < count && bench_ranks == 2; ++i) {
    for (int warm_up = 0; warm_up < 3; ++warm_up) transfer(old, (int)sizes[i]);
    for (long repeat = 0; repeat < repeats; ++repeat)
      if (kind != STATIC || static_used + (size_t)sizes[i] <= kStaticBytes)
        measure(kind, old, (int)sizes[i], (unsigned)(repeat + 1));
  }
  bench_finish();
  return 0;
}
