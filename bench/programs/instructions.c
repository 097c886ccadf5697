// Instructions of an 8-byte MPI_Send and of an MPI_Recv whose message has already arrived, to be run under
// callgrind, which counts only inside `measured_send` and `measured_recv` (see bench/instructions).
//
// The receiver waits by sleeping, not by an MPI call, so that the message lies where the sender put it.
#include <time.h>

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

static void sleep_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "instructions");
  const long count = bench_option("count", 50), pause_ms = bench_option("pause-ms", 15);
  for (long i = -kWarmUp; i < count; ++i) {
    const uint64_t sent = (uint64_t)(i + kWarmUp) * 17;
    uint64_t token = 0;
    if (bench_rank == 0) {
      data = sent;
      if (i < 0)
        MPI_Send(&data, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      else
        measured_send(), empty_send();
      MPI_Recv(&token, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (bench_rank == 1) {
      sleep_ms(pause_ms);
      if (i < 0)
        MPI_Recv(&data, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      else
        measured_recv(), empty_recv();
      bench_expect(data == sent, "the message");
      MPI_Send(&token, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
  }
  bench_sample("count", (double)count, (double)count, "x");
  bench_finish();
  return 0;
}
