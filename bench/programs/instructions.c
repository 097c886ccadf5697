// Instructions of an 8-byte MPI_Send and of an MPI_Recv whose message has already arrived, to be run under
// callgrind, which counts only inside `measured_send` and `measured_recv` (see bench/instructions).
//
// The receiver waits for the sender's word in a shared window, not by an MPI call that receives, so that the
// message lies where the sender put it.
#include <sched.h>

#include "sample.h"

enum { kWarmUp = 20 };

static uint64_t data;

__attribute__((noinline)) void measured_send(void) { MPI_Send(&data, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD); }

__attribute__((noinline)) void measured_recv(void) {
  MPI_Recv(&data, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Calls of nothing with the same arguments: what bench/instructions takes off for the call itself.
__attribute__((noinline, noipa)) static int send_nothing(const void* data, int count, MPI_Datatype type,
                                                         int rank, int tag, MPI_Comm comm) {
  (void)data, (void)count, (void)type, (void)rank, (void)tag, (void)comm;
  return 0;
}
__attribute__((noinline, noipa)) static int recv_nothing(void* data, int count, MPI_Datatype type, int rank,
                                                         int tag, MPI_Comm comm, MPI_Status* status) {
  (void)data, (void)count, (void)type, (void)rank, (void)tag, (void)comm, (void)status;
  return 0;
}

__attribute__((noinline, noipa)) void empty_send(void) {
  send_nothing(&data, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
}

__attribute__((noinline, noipa)) void empty_recv(void) {
  recv_nothing(&data, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Rank 0's word: how many messages it has sent.
static int64_t* sent_messages(MPI_Win* window) {
  MPI_Aint size;
  int unit;
  void* word;
  MPI_Win_allocate_shared(bench_rank == 0 ? sizeof(int64_t) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &word,
                          window);
  MPI_Win_shared_query(*window, 0, &size, &unit, &word);
  return word;
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "instructions");
  const long count = bench_option("count", 50);
  MPI_Win window;
  int64_t* sent = sent_messages(&window);
  for (long i = 0; i < kWarmUp + count; ++i) {
    const int is_counted = i >= kWarmUp;
    const uint64_t value = (uint64_t)i * 17;
    uint64_t token = 0;
    if (bench_rank == 0) {
      data = value;
      if (is_counted)
        measured_send(), empty_send();
      else
        MPI_Send(&data, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      __atomic_store_n(sent, i + 1, __ATOMIC_RELEASE);
      MPI_Recv(&token, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (bench_rank == 1) {
      while (__atomic_load_n(sent, __ATOMIC_ACQUIRE) <= i) sched_yield();
      if (is_counted)
        measured_recv(), empty_recv();
      else
        MPI_Recv(&data, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      bench_expect(data == value, "the message");
      MPI_Send(&token, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
  }
  MPI_Win_free(&window);
  bench_sample("count", (double)count, (double)count, "x");
  bench_finish();
  return 0;
}
