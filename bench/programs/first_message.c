// What the first message of a new buffer costs beside the second: mapping, registration, first use of pages.
//
// Rank 0 takes new memory and writes it; rank 1 receives into memory it has long used.  The value is us from
// the send to the receiver's acknowledgement; `ratio` is first over second.
// --sizes: bytes   --repeats: new buffers per size
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

// One new buffer of rank 0; it is kept until the end, or the next would not be new.
static void measure(char* old, int bytes, unsigned seed) {
  char* data = bench_rank == 0 ? bench_memory((size_t)bytes) : old;
  if (bench_rank == 0) bench_fill(data, (size_t)bytes, seed);
  const double before = bench_probe();
  const double first = transfer(data, bytes), second = transfer(data, bytes);
  const double after = bench_probe();
  if (bench_rank == 1) bench_verify(data, (size_t)bytes, seed);
  bench_sample_probed("first", bytes, first * 1e6, "us", before, after);
  bench_sample_probed("second", bytes, second * 1e6, "us", before, after);
  bench_sample_probed("ratio", bytes, first / second, "times", before, after);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "first_message");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 256 << 10, 16 << 20, 4);
  char* old = bench_memory((size_t)bench_size_max(sizes, count));
  for (int i = 0; i < count && bench_ranks == 2; ++i) {
    for (int warm_up = 0; warm_up < 3; ++warm_up) transfer(old, (int)sizes[i]);
    for (long repeat = 0; repeat < bench_option("repeats", 5); ++repeat)
      measure(old, (int)sizes[i], (unsigned)(repeat + 1));
  }
  bench_finish();
  return 0;
}
