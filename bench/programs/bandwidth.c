// Streams of messages from rank 0 to rank 1: bandwidth against message size, or messages per second.
//
// --report=rate       million messages/s instead of GB/s
// --bidirectional=1   both ranks send; the value counts both directions
// --mode=...          clean (all messages in one place, as OSU's), fresh or off_cache: see data.h
// --sizes=8,4096      or --min, --max, --factor: sizes in bytes
// --window=64         messages in flight before an acknowledgement
#include "data.h"

enum { kWindowMax = 4096 };

typedef struct {
  Data data;
  int window, is_bidirectional;
  size_t offsets[kWindowMax];
  MPI_Request requests[2 * kWindowMax];
} Context;

static void place_window(Context* context) {
  for (int k = 0; k < context->window; ++k)
    context->offsets[k] =
        context->data.is_fresh ? (size_t)k * context->data.bytes : data_next(&context->data);
}

static void stream(long iterations, void* opaque) {
  Context* context = opaque;
  const Data* data = &context->data;
  const int peer = 1 - bench_rank, bytes = (int)data->bytes;
  const int sends = bench_rank == 0 || context->is_bidirectional;
  const int receives = bench_rank == 1 || context->is_bidirectional;
  char token = 0;
  for (long i = 0; i < iterations; ++i) {
    int count = 0;
    place_window(context);
    for (int k = 0; sends && k < context->window; ++k) data_produce(data, context->offsets[k], i + k);
    for (int k = 0; receives && k < context->window; ++k)
      MPI_Irecv(data->recv + context->offsets[k], bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
                &context->requests[count++]);
    for (int k = 0; sends && k < context->window; ++k)
      MPI_Isend(data->send + context->offsets[k], bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
                &context->requests[count++]);
    MPI_Waitall(count, context->requests, MPI_STATUSES_IGNORE);
    for (int k = 0; receives && k < context->window; ++k) data_consume(data, context->offsets[k]);
    if (bench_rank == 0)
      MPI_Recv(&token, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(&token, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
  }
}

static void check(const Data* data) {
  if (bench_rank == 0) {
    bench_fill(data->send, data->bytes, 7);
    MPI_Send(data->send, (int)data->bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(data->recv, (int)data->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bench_verify(data->recv, data->bytes, 7);
  }
}

int main(int argc, char** argv) {
  static Context context;
  bench_start(&argc, &argv, "bandwidth");
  const int is_rate = strcmp(bench_text("report", "bandwidth"), "rate") == 0;
  long sizes[kBenchSizesMax];
  const int size_count = bench_sizes(sizes, 1, 4 << 20, 2);
  context.window = (int)bench_option("window", 64);
  if (context.window > kWindowMax) context.window = kWindowMax;
  context.is_bidirectional = (int)bench_option("bidirectional", 0);
  context.data = data_open((size_t)bench_size_max(sizes, size_count), (size_t)context.window, 0);
  const char* series = data_series(is_rate ? "rate" : context.is_bidirectional ? "bidirectional" : "one_way");
  const double messages = context.window * (context.is_bidirectional ? 2 : 1);
  for (int i = 0; i < size_count && bench_ranks == 2; ++i) {
    const double bytes = (double)sizes[i];
    context.data.bytes = (size_t)sizes[i];
    check(&context.data);
    const bench_point rate = {series, bytes, "M/s", messages * 1e-6, 1};
    const bench_point gigabytes = {series, bytes, "GB/s", messages * bytes * 1e-9, 1};
    bench_measure(is_rate ? &rate : &gigabytes, stream, &context);
  }
  bench_finish();
  return 0;
}
