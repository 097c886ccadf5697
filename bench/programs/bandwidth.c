// Streams of messages from rank 0 to rank 1: bandwidth against message size, or messages per second.
//
// --report=rate       million messages/s instead of GB/s
// --bidirectional=1   both ranks send; the value counts both directions
// --sizes=8,4096      or --min, --max, --factor: sizes in bytes
// --window=64         messages in flight before an acknowledgement
#include <string.h>

#include "sample.h"

enum { kWindowMax = 4096 };

typedef struct {
  char *send, *recv;
  int bytes, window, is_bidirectional;
  MPI_Request requests[2 * kWindowMax];
} Context;

static void stream(long iterations, void* opaque) {
  Context* context = opaque;
  const int peer = 1 - bench_rank;
  const int sends = bench_rank == 0 || context->is_bidirectional;
  const int receives = bench_rank == 1 || context->is_bidirectional;
  char token = 0;
  for (long i = 0; i < iterations; ++i) {
    int count = 0;
    for (int k = 0; receives && k < context->window; ++k)
      MPI_Irecv(context->recv, context->bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
                &context->requests[count++]);
    for (int k = 0; sends && k < context->window; ++k)
      MPI_Isend(context->send, context->bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
                &context->requests[count++]);
    MPI_Waitall(count, context->requests, MPI_STATUSES_IGNORE);
    if (bench_rank == 0)
      MPI_Recv(&token, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(&token, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
  }
}

static void check(const Context* context) {
  const size_t bytes = (size_t)context->bytes;
  if (bench_rank == 0) {
    bench_fill(context->send, bytes, 7);
    MPI_Send(context->send, context->bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(context->recv, context->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bench_verify(context->recv, bytes, 7);
  }
}

int main(int argc, char** argv) {
  static Context context;
  bench_start(&argc, &argv, "bandwidth");
  const int is_rate = strcmp(bench_text("report", "bandwidth"), "rate") == 0;
  long sizes[kBenchSizesMax];
  const int size_count = bench_sizes(sizes, 1, 4 << 20, 2);
  const size_t room = (size_t)bench_size_max(sizes, size_count);
  context.window = (int)bench_option("window", 64);
  if (context.window > kWindowMax) context.window = kWindowMax;
  context.is_bidirectional = (int)bench_option("bidirectional", 0);
  context.send = bench_buffer(room);
  context.recv = bench_buffer(room);
  const char* series = is_rate ? "rate" : context.is_bidirectional ? "bidirectional" : "one_way";
  const double messages = context.window * (context.is_bidirectional ? 2 : 1);
  for (int i = 0; i < size_count && bench_ranks == 2; ++i) {
    const long bytes = sizes[i];
    context.bytes = (int)bytes;
    check(&context);
    const bench_point rate = {series, (double)bytes, "M/s", messages * 1e-6, 1};
    const bench_point gigabytes = {series, (double)bytes, "GB/s", messages * (double)bytes * 1e-9, 1};
    bench_measure(is_rate ? &rate : &gigabytes, stream, &context);
  }
  bench_finish();
  return 0;
}
