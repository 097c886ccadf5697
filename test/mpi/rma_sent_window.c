/* A process sends the memory of its window again and again while another one adds to it: the snapshots may
 * be of any moment, but no addition is lost, whatever the receiver does to the lines that it has read.
 * ranks: 3 variants: none */
#include <string.h>

#include "check.h"

enum { kLongs = 1 << 14, kStep = 1024, kRounds = 50000, kTag = 1, kLastTag = 2 }; /* a block of the heap */

static void send_until_done(const long* counters) {
  MPI_Request done;
  int is_done = 0;
  MPI_Irecv(NULL, 0, MPI_INT, 2, 0, MPI_COMM_WORLD, &done);
  while (!is_done) {
    MPI_Send(counters, kLongs, MPI_LONG, 1, kTag, MPI_COMM_WORLD);
    MPI_Test(&done, &is_done, MPI_STATUS_IGNORE);
  }
  MPI_Send(counters, kLongs, MPI_LONG, 1, kLastTag, MPI_COMM_WORLD);
}

static void receive_all(long* snapshot) {
  MPI_Status status;
  do {
    MPI_Recv(snapshot, kLongs, MPI_LONG, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  } while (status.MPI_TAG == kTag);
}

static void add(MPI_Win win, MPI_Aint base, MPI_Aint unit) {
  const long one = 1;
  for (int round = 0; round < kRounds; ++round) {
    for (MPI_Aint i = 0; i < kLongs; i += kStep)
      MPI_Accumulate(&one, 1, MPI_LONG, 0, base + i * unit, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush(0, win);
  }
  MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

static void test(MPI_Win win, long* counters, MPI_Aint unit, const char* what) {
  MPI_Aint base = 0;
  memset(counters, 0, kLongs * sizeof *counters);
  if (unit > 1) MPI_Get_address(counters, &base);
  MPI_Bcast(&base, 1, MPI_AINT, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  if (check_rank == 0) send_until_done(counters);
  if (check_rank == 1) receive_all(counters);
  if (check_rank == 2) add(win, base, unit);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kLongs && check_rank < 2; i += kStep)
    CHECK(counters[i] == kRounds, "%s: counter %d is %ld, not %d", what, i, counters[i], kRounds);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  long* const counters = malloc(kLongs * sizeof *counters);
  MPI_Win win;
  MPI_Win_create(counters, kLongs * sizeof *counters, sizeof *counters, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  test(win, counters, 1, "created");
  MPI_Win_free(&win);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, counters, kLongs * sizeof *counters);
  test(win, counters, sizeof *counters, "attached");
  MPI_Win_detach(win, counters);
  MPI_Win_free(&win);
  free(counters);
  return check_end();
}
