// Ping-pong of two ranks: half round trip against message size.
//
// --mode=clean      nobody touches the data between messages (as OSU's and IMB's latency tests)
// --mode=fresh      the sender writes the data and the receiver reads it, both inside the time, as real
//                   programs do
// --mode=off_cache  buffers rotate through a pool far larger than any cache (as IMB's -off_cache)
// --call=sendrecv   MPI_Sendrecv by both ranks at once; the value is then GB/s of both directions together
// --sizes=0,8,64    or --min, --max, --factor: sizes in bytes
#include <string.h>

#include "sample.h"

enum { kPoolBytes = 256 << 20 };

typedef struct {
  char *send, *recv;  // one buffer each, or pools
  size_t bytes;
  size_t pool_bytes;  // 0: always the same buffer
  size_t offset;
  int is_fresh;
} Context;

static volatile uint64_t sink;

// The program's own share of a fresh message, as one runs it that was built for its machine: with SSE2 alone
// these loops take 60 of the 66 us of 1 MB, and no MPI would differ from any other.
#if defined(__x86_64__)
#define AT_FULL_SPEED __attribute__((noinline, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define AT_FULL_SPEED __attribute__((noinline))
#endif

AT_FULL_SPEED static void write_all(char* data, size_t bytes, uint64_t value) {
  uint64_t* words = (uint64_t*)data;
  for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) words[i] = value + i;
  for (size_t i = bytes & ~(size_t)7; i < bytes; ++i) data[i] = (char)value;
}

AT_FULL_SPEED static void read_all(const char* data, size_t bytes) {
  const uint64_t* words = (const uint64_t*)data;
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) sum += words[i];
  for (size_t i = bytes & ~(size_t)7; i < bytes; ++i) sum += (uint64_t)data[i];
  sink = sum;
}

static size_t next_offset(Context* context) {
  if (context->pool_bytes == 0) return 0;
  const size_t step = (context->bytes + 4095) & ~(size_t)4095;
  context->offset += step;
  if (context->offset + context->bytes > context->pool_bytes) context->offset = 0;
  return context->offset;
}

static void ping_pong(long iterations, void* opaque) {
  Context* context = opaque;
  const int bytes = (int)context->bytes;
  for (long i = 0; i < iterations; ++i) {
    const size_t offset = next_offset(context);
    char *send = context->send + offset, *recv = context->recv + offset;
    if (bench_rank == 0) {
      if (context->is_fresh) write_all(send, context->bytes, (uint64_t)i);
      MPI_Send(send, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(recv, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (context->is_fresh) read_all(recv, context->bytes);
    } else {
      MPI_Recv(recv, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (context->is_fresh) {
        read_all(recv, context->bytes);
        write_all(send, context->bytes, (uint64_t)i);
      }
      MPI_Send(send, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
  }
}

static void exchange(long iterations, void* opaque) {
  Context* context = opaque;
  const int bytes = (int)context->bytes, peer = 1 - bench_rank;
  for (long i = 0; i < iterations; ++i) {
    const size_t offset = next_offset(context);
    if (context->is_fresh) write_all(context->send + offset, context->bytes, (uint64_t)i);
    MPI_Sendrecv(context->send + offset, bytes, MPI_BYTE, peer, 1, context->recv + offset, bytes, MPI_BYTE,
                 peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (context->is_fresh) read_all(context->recv + offset, context->bytes);
  }
}

// The data of one message each way, compared byte by byte.
static void check(Context* context) {
  const int bytes = (int)context->bytes, peer = 1 - bench_rank;
  bench_fill(context->send, context->bytes, (unsigned)(bytes + bench_rank));
  MPI_Sendrecv(context->send, bytes, MPI_BYTE, peer, 1, context->recv, bytes, MPI_BYTE, peer, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  bench_verify(context->recv, context->bytes, (unsigned)(bytes + peer));
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "pingpong");
  const char* mode = bench_text("mode", "clean");
  const int is_exchange = strcmp(bench_text("call", "send"), "sendrecv") == 0;
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 0, 4 << 20, 2);
  const size_t bytes_max = (size_t)bench_size_max(sizes, count);
  Context context = {0};
  context.is_fresh = strcmp(mode, "fresh") == 0;
  context.pool_bytes = strcmp(mode, "off_cache") == 0 ? (size_t)bench_option("pool", kPoolBytes) : 0;
  const size_t room = context.pool_bytes > bytes_max ? context.pool_bytes : bytes_max;
  context.send = bench_buffer(room);
  context.recv = bench_buffer(room);
  char series[64] = "";
  strncat(series, mode, 20);
  if (is_exchange) strcat(series, "_sendrecv");
  for (int i = 0; i < count && bench_ranks == 2; ++i) {
    const size_t bytes = context.bytes = (size_t)sizes[i];
    check(&context);
    const bench_point half_trip = {series, (double)bytes, "us", 0.5e6, 0};
    const bench_point both_ways = {series, (double)bytes, "GB/s", 2e-9 * (double)bytes, 1};
    if (is_exchange && bytes > 0) bench_measure(&both_ways, exchange, &context);
    if (!is_exchange) bench_measure(&half_trip, ping_pong, &context);
  }
  bench_finish();
  return 0;
}
