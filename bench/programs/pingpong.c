// Two ranks, a message each: half round trip, or the bytes of both directions a second, against message size.
//
// --call=send      ping-pong by MPI_Send and MPI_Recv (us, half round trip)
// --call=sendrecv  MPI_Sendrecv by both ranks at once (GB/s of both directions together)
// --call=waitall   the same by MPI_Irecv, MPI_Isend, MPI_Waitall
// --mode=...       clean, fresh or off_cache: see data.h
// --memory=pages   page-aligned memory; malloc: a block of just the size; stack: of each rank (none rotates)
// --sizes=0,8,64   or --min, --max, --factor: sizes in bytes
#include <stdlib.h>

#include "data.h"

enum { kStackBytes = 64 << 10 };

static void ping_pong(long iterations, void* opaque) {
  Data* data = opaque;
  const int bytes = (int)data->bytes;
  for (long i = 0; i < iterations; ++i) {
    const size_t offset = data_next(data);
    char *send = data->send + offset, *recv = data->recv + offset;
    if (bench_rank == 0) {
      data_produce(data, offset, i);
      MPI_Send(send, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(recv, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      data_consume(data, offset);
    } else {
      MPI_Recv(recv, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      data_consume(data, offset);
      data_produce(data, offset, i);
      MPI_Send(send, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
  }
}

static void sendrecv(long iterations, void* opaque) {
  Data* data = opaque;
  const int bytes = (int)data->bytes, peer = 1 - bench_rank;
  for (long i = 0; i < iterations; ++i) {
    const size_t offset = data_next(data);
    data_produce(data, offset, i);
    MPI_Sendrecv(data->send + offset, bytes, MPI_BYTE, peer, 1, data->recv + offset, bytes, MPI_BYTE, peer, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    data_consume(data, offset);
  }
}

static void waitall(long iterations, void* opaque) {
  Data* data = opaque;
  const int bytes = (int)data->bytes, peer = 1 - bench_rank;
  for (long i = 0; i < iterations; ++i) {
    const size_t offset = data_next(data);
    MPI_Request requests[2];
    data_produce(data, offset, i);
    MPI_Irecv(data->recv + offset, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(data->send + offset, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    data_consume(data, offset);
  }
}

// The data of one message each way, compared byte by byte.
static void check(Data* data) {
  const int bytes = (int)data->bytes, peer = 1 - bench_rank;
  bench_fill(data->send, data->bytes, (unsigned)(bytes + bench_rank));
  MPI_Sendrecv(data->send, bytes, MPI_BYTE, peer, 1, data->recv, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  bench_verify(data->recv, data->bytes, (unsigned)(bytes + peer));
}

static void measure(Data* data, const char* call) {
  const double bytes = (double)data->bytes;
  const int is_ping_pong = strcmp(call, "send") == 0;
  char series[64] = "";
  strcat(series, bench_text("mode", "clean"));
  if (!is_ping_pong) strcat(strcat(series, "_"), call);
  const bench_point half_trip = {series, bytes, "us", 0.5e6, 0};
  const bench_point both_ways = {series, bytes, "GB/s", 2e-9 * bytes, 1};
  check(data);
  if (is_ping_pong)
    bench_measure(&half_trip, ping_pong, data);
  else if (data->bytes > 0)
    bench_measure(&both_ways, strcmp(call, "waitall") == 0 ? waitall : sendrecv, data);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "pingpong");
  const char* memory = bench_text("memory", "pages");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 0, 4 << 20, 2);
  Data data = data_open((size_t)bench_size_max(sizes, count), 1, 0);
  char on_stack[2][kStackBytes];
  const int is_malloc = strcmp(memory, "malloc") == 0, is_stack = strcmp(memory, "stack") == 0;
  if (is_malloc || is_stack) data.pool_bytes = 0;
  for (int i = 0; i < count && bench_ranks == 2; ++i) {
    data.bytes = (size_t)sizes[i];
    if (is_stack && data.bytes > kStackBytes) continue;
    if (is_malloc || is_stack) data.send = is_malloc ? malloc(data.bytes) : on_stack[0];
    if (is_malloc || is_stack) data.recv = is_malloc ? malloc(data.bytes) : on_stack[1];
    measure(&data, bench_text("call", "send"));
    if (is_malloc) free(data.send);
    if (is_malloc) free(data.recv);
  }
  bench_finish();
  return 0;
}
