/* A process offers memory by MPI_Isend and then makes a window over it, which another one adds to while the
 * message is received: no addition is lost, whatever the receiver does to the lines that it has read.
 * ranks: 3 variants: none */
#include "check.h"

enum { kLongs = 1 << 13, kStep = 8, kMessages = 48, kRounds = 40, kTurns = 60 };

static void add(MPI_Win win) {
  const long one = 1;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (MPI_Aint i = 0; i < kLongs; i += kStep)
      MPI_Accumulate(&one, 1, MPI_LONG, 0, i, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush(0, win);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  long* const counters = calloc(kLongs, sizeof *counters);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request messages[kMessages];
    if (check_rank == 0)
      for (int i = 0; i < kMessages; ++i)
        MPI_Isend(counters, kLongs, MPI_LONG, 1, i, MPI_COMM_WORLD, &messages[i]);
    MPI_Win win;
    MPI_Win_create(counters, check_rank == 0 ? kLongs * sizeof *counters : 0, sizeof *counters, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    if (check_rank == 1)
      for (int i = 0; i < kMessages; ++i)
        MPI_Recv(counters, kLongs, MPI_LONG, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (check_rank == 2) add(win);
    MPI_Win_unlock_all(win);
    if (check_rank == 0) MPI_Waitall(kMessages, messages, MPI_STATUSES_IGNORE);
    MPI_Win_free(&win);
  }
  for (int i = 0; i < kLongs && check_rank == 0; i += kStep)
    CHECK(counters[i] == kRounds * kTurns, "counter %d is %ld, not %d", i, counters[i], kRounds * kTurns);
  free(counters);
  return check_end();
}
