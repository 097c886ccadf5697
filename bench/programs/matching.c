// What a long queue costs: 8-byte ping-pong past many posted receives, or past many unexpected messages, that
// do not match.  The value is us half round trip; x is the depth of the queue on both ranks.
//
// --kind=posted|unexpected|posted_wild  (wild: the queued receives name any source)   --sizes=0,100 or
//                                       --max=10000: depths
#include <stdlib.h>
#include <string.h>

#include "sample.h"

enum { kBusyTag = 1, kQueuedTag = 1000 };

static void ping_pong(long iterations, void* unused) {
  (void)unused;
  uint64_t data = 0;
  for (long i = 0; i < iterations; ++i) {
    if (bench_rank == 0) {
      MPI_Send(&data, 8, MPI_BYTE, 1, kBusyTag, MPI_COMM_WORLD);
      MPI_Recv(&data, 8, MPI_BYTE, 1, kBusyTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&data, 8, MPI_BYTE, 0, kBusyTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&data, 8, MPI_BYTE, 0, kBusyTag, MPI_COMM_WORLD);
    }
  }
}

static void measure_posted(int depth, int source, const char* series) {
  const int peer = 1 - bench_rank;
  uint64_t* values = bench_memory((size_t)(depth + 1) * sizeof(uint64_t));
  MPI_Request* requests = bench_memory((size_t)(depth + 1) * sizeof(MPI_Request));
  for (int i = 0; i < depth; ++i)
    MPI_Irecv(&values[i], 8, MPI_BYTE, source, kQueuedTag + i, MPI_COMM_WORLD, &requests[i]);
  const bench_point point = {series, depth, "us", 0.5e6, 0};
  bench_measure(&point, ping_pong, NULL);
  for (int i = 0; i < depth; ++i) {
    const uint64_t value = (uint64_t)i * 3;
    MPI_Send(&value, 8, MPI_BYTE, peer, kQueuedTag + i, MPI_COMM_WORLD);
  }
  MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < depth; ++i)
    bench_expect(values[i] == (uint64_t)i * 3, "a queued receive got another message");
  free(values);
  free(requests);
}

static void measure_unexpected(int depth) {
  const int peer = 1 - bench_rank;
  for (int i = 0; i < depth; ++i) {
    const uint64_t value = (uint64_t)i * 5;
    MPI_Send(&value, 8, MPI_BYTE, peer, kQueuedTag + i, MPI_COMM_WORLD);
  }
  const bench_point point = {"unexpected", depth, "us", 0.5e6, 0};
  bench_measure(&point, ping_pong, NULL);
  for (int i = 0; i < depth; ++i) {
    uint64_t value = 0;
    MPI_Recv(&value, 8, MPI_BYTE, peer, kQueuedTag + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bench_expect(value == (uint64_t)i * 5, "an unexpected message was mixed up");
  }
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "matching");
  long depths[kBenchSizesMax];
  const int count = bench_sizes(depths, 0, 10000, 10);
  const char* kind = bench_text("kind", "posted");
  for (int i = 0; i < count && bench_ranks == 2; ++i) {
    const int depth = (int)depths[i];
    if (strcmp(kind, "posted") == 0) measure_posted(depth, 1 - bench_rank, "posted");
    if (strcmp(kind, "posted_wild") == 0) measure_posted(depth, MPI_ANY_SOURCE, "posted_wild");
    if (strcmp(kind, "unexpected") == 0) measure_unexpected(depth);
  }
  bench_finish();
  return 0;
}
