// Collectives in their three ways of calling: blocking, nonblocking with its wait at once, persistent with
// start and wait.  The series tells the collective and the way; x is the bytes of a rank's block or operand.
//
// --sizes=8,512, or --min, --max, --factor   --ops=allreduce,...
#include <stdio.h>
#include <string.h>

#include "sample.h"

typedef struct {
  int which;
  int bytes;
  char *send, *recv;
  MPI_Request request;  // of the persistent operation
} Context;

static const char* const names[] = {"barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall"};
enum { kBarrier, kBcast, kReduce, kAllreduce, kAllgather, kAlltoall, kCollectives };

static void call(const Context* c) {
  const int bytes = c->bytes;
  const MPI_Comm all = MPI_COMM_WORLD;
  switch (c->which) {
    case kBarrier: MPI_Barrier(all); break;
    case kBcast: MPI_Bcast(c->recv, bytes, MPI_BYTE, 0, all); break;
    case kReduce: MPI_Reduce(c->send, c->recv, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, all); break;
    case kAllreduce: MPI_Allreduce(c->send, c->recv, bytes / 8, MPI_DOUBLE, MPI_SUM, all); break;
    case kAllgather: MPI_Allgather(c->send, bytes, MPI_BYTE, c->recv, bytes, MPI_BYTE, all); break;
    default: MPI_Alltoall(c->send, bytes, MPI_BYTE, c->recv, bytes, MPI_BYTE, all);
  }
}

static void begin(const Context* c, MPI_Request* r) {
  const int bytes = c->bytes;
  const MPI_Comm all = MPI_COMM_WORLD;
  switch (c->which) {
    case kBarrier: MPI_Ibarrier(all, r); break;
    case kBcast: MPI_Ibcast(c->recv, bytes, MPI_BYTE, 0, all, r); break;
    case kReduce: MPI_Ireduce(c->send, c->recv, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, all, r); break;
    case kAllreduce: MPI_Iallreduce(c->send, c->recv, bytes / 8, MPI_DOUBLE, MPI_SUM, all, r); break;
    case kAllgather: MPI_Iallgather(c->send, bytes, MPI_BYTE, c->recv, bytes, MPI_BYTE, all, r); break;
    default: MPI_Ialltoall(c->send, bytes, MPI_BYTE, c->recv, bytes, MPI_BYTE, all, r);
  }
}

static void prepare(const Context* c, MPI_Request* r) {
  const int bytes = c->bytes;
  const MPI_Comm all = MPI_COMM_WORLD;
  const MPI_Info none = MPI_INFO_NULL;
  switch (c->which) {
    case kBarrier: MPI_Barrier_init(all, none, r); break;
    case kBcast: MPI_Bcast_init(c->recv, bytes, MPI_BYTE, 0, all, none, r); break;
    case kReduce: MPI_Reduce_init(c->send, c->recv, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, all, none, r); break;
    case kAllreduce:
      MPI_Allreduce_init(c->send, c->recv, bytes / 8, MPI_DOUBLE, MPI_SUM, all, none, r);
      break;
    case kAllgather:
      MPI_Allgather_init(c->send, bytes, MPI_BYTE, c->recv, bytes, MPI_BYTE, all, none, r);
      break;
    default: MPI_Alltoall_init(c->send, bytes, MPI_BYTE, c->recv, bytes, MPI_BYTE, all, none, r);
  }
}

static void blocking(long steps, void* opaque) {
  for (long i = 0; i < steps; ++i) call(opaque);
}

static void nonblocking(long steps, void* opaque) {
  for (long i = 0; i < steps; ++i) {
    MPI_Request request;
    begin(opaque, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void persistent(long steps, void* opaque) {
  Context* c = opaque;
  for (long i = 0; i < steps; ++i) {
    MPI_Start(&c->request);
    MPI_Wait(&c->request, MPI_STATUS_IGNORE);
  }
}

static void measure(const char* way, bench_work work, Context* c) {
  char series[64];
  (void)snprintf(series, sizeof series, "%s_%s", names[c->which], way);
  const bench_point point = {series, c->bytes, "us", 1e6, 0};
  bench_measure(&point, work, c);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "nonblocking");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 8, 1 << 16, 8);
  const size_t room = (size_t)bench_size_max(sizes, count) * (size_t)bench_ranks;
  Context context = {kBarrier, 0, bench_buffer(room), bench_buffer(room), MPI_REQUEST_NULL};
  memset(context.send, 0, room);
  for (context.which = 0; context.which < kCollectives; ++context.which) {
    if (!bench_wants("ops", names[context.which])) continue;
    for (int i = 0; i < (context.which == kBarrier ? 1 : count); ++i) {
      context.bytes = context.which == kBarrier ? 0 : (int)sizes[i];
      prepare(&context, &context.request);
      measure("blocking", blocking, &context);
      measure("nonblocking", nonblocking, &context);
      measure("persistent", persistent, &context);
      MPI_Request_free(&context.request);
    }
  }
  bench_finish();
  return 0;
}
