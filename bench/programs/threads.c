// Two ranks, threads that talk with MPI_THREAD_MULTIPLE, each over a communicator of its own, against the
// number of threads of a rank.
//
// --report=rate      million messages/s of all threads together, windows of 64 one way
// --report=latency   ping-pong (us, half round trip of a thread)
// --threads=1,2,4    numbers of threads; 0: one, with nothing but MPI_THREAD_SINGLE asked for (alone:
// --threads=0)
// --bytes=8          of a message
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

enum { kThreadsMax = 64, kWindow = 64 };

typedef struct {
  MPI_Comm comm;
  char *send, *recv;
  int bytes;
  long iterations;
} Talk;

typedef struct {
  Talk talks[kThreadsMax];
  int threads, is_rate;
} Context;

static void* ping_pong(void* opaque) {
  const Talk* talk = opaque;
  const int peer = 1 - bench_rank;
  for (long i = 0; i < talk->iterations; ++i) {
    if (bench_rank == 0) MPI_Send(talk->send, talk->bytes, MPI_BYTE, peer, 1, talk->comm);
    MPI_Recv(talk->recv, talk->bytes, MPI_BYTE, peer, 1, talk->comm, MPI_STATUS_IGNORE);
    if (bench_rank == 1) MPI_Send(talk->send, talk->bytes, MPI_BYTE, peer, 1, talk->comm);
  }
  return NULL;
}

static void* stream(void* opaque) {
  const Talk* talk = opaque;
  MPI_Request requests[kWindow];
  char token = 0;
  for (long i = 0; i < talk->iterations; ++i) {
    for (int k = 0; k < kWindow; ++k)
      if (bench_rank == 0)
        MPI_Isend(talk->send, talk->bytes, MPI_BYTE, 1, 1, talk->comm, &requests[k]);
      else
        MPI_Irecv(talk->recv, talk->bytes, MPI_BYTE, 0, 1, talk->comm, &requests[k]);
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    if (bench_rank == 0)
      MPI_Recv(&token, 1, MPI_CHAR, 1, 2, talk->comm, MPI_STATUS_IGNORE);
    else
      MPI_Send(&token, 1, MPI_CHAR, 0, 2, talk->comm);
  }
  return NULL;
}

static void talk_all(long iterations, void* opaque) {
  Context* context = opaque;
  pthread_t threads[kThreadsMax];
  for (int i = 0; i < context->threads; ++i) {
    context->talks[i].iterations = iterations;
    if (pthread_create(&threads[i], NULL, context->is_rate ? stream : ping_pong, &context->talks[i]) != 0)
      MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int i = 0; i < context->threads; ++i) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  static Context context;
  int is_single = 0;
  for (int i = 1; i < argc; ++i) is_single |= strcmp(argv[i], "--threads=0") == 0;
  bench_start_threads(&argc, &argv, "threads", is_single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
  context.is_rate = strcmp(bench_text("report", "latency"), "rate") == 0;
  const int bytes = (int)bench_option("bytes", 8);
  for (int i = 0; i < kThreadsMax; ++i) {
    Talk* talk = &context.talks[i];
    MPI_Comm_dup(MPI_COMM_WORLD, &talk->comm);
    talk->bytes = bytes;
    talk->send = bench_memory((size_t)bytes);
    talk->recv = bench_memory((size_t)bytes);
  }
  char list[256];
  strncpy(list, bench_text("threads", "1,2,4"), sizeof list - 1);
  for (char* word = strtok(list, ","); word && bench_ranks == 2; word = strtok(NULL, ",")) {
    const int threads = atoi(word);
    context.threads = is_single ? 1 : threads;
    if (context.threads < 1 || context.threads > kThreadsMax) break;
    for (int i = 0; i < context.threads; ++i) bench_fill(context.talks[i].send, (size_t)bytes, (unsigned)i);
    const bench_point rate = {"rate", threads, "M/s", 1e-6 * kWindow * context.threads, 1};
    const bench_point latency = {bytes == 8 ? "latency" : "latency_large", threads, "us", 0.5e6, 0};
    bench_measure(context.is_rate ? &rate : &latency, talk_all, &context);
    if (!context.is_rate || bench_rank == 1)  // a stream goes one way
      for (int i = 0; i < context.threads; ++i)
        bench_verify(context.talks[i].recv, (size_t)bytes, (unsigned)i);
  }
  for (int i = 0; i < kThreadsMax; ++i) MPI_Comm_free(&context.talks[i].comm);
  bench_finish();
  return 0;
}
