/* An origin of another node waits for the lock of a target that computes and has no thread of the library:
 * ranks of the target's node, one that comes and goes and one that waits behind it, do not wait for it.  The
 * first three ranks are on one node, the last on another (or on the same, where it waits as they do).
 * ranks: 4
 * variants: none */
#include <time.h>

#include "check.h"

enum { kTarget, kComesAndGoes, kWaits, kGuest, kTurns = 2000 };

static void take_turns(MPI_Win win, int turns) {
  for (int turn = 0; turn < turns; ++turn) {
    const long one = 1;
    long before;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kTarget, 0, win);
    MPI_Fetch_and_op(&one, &before, MPI_LONG, kTarget, check_rank, MPI_SUM, win);
    MPI_Win_unlock(kTarget, win);
  }
}

/* Until the two of its own node have had all their turns. */
static void compute(volatile long* memory) {
  const struct timespec pause = {0, 1000000};
  for (int ms = 0; memory[kComesAndGoes] < kTurns || memory[kWaits] < 1; ++ms) {
    CHECK(ms < 20000, "%ld and %ld turns", memory[kComesAndGoes], memory[kWaits]);
    nanosleep(&pause, NULL);
  }
}

static void tell(int rank) { MPI_Send(NULL, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD); }
static void hear(int rank) { MPI_Recv(NULL, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

/* A target that only tests lets it in, too, while two of its node hold the lock by turns. */
static void test_tests(MPI_Win win, long* memory) {
  const struct timespec hold = {0, 1000000};
  volatile long* const has_ended = &memory[0];
  *has_ended = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == kTarget) {
    MPI_Request request;
    int is_complete = 0;
    MPI_Irecv(NULL, 0, MPI_BYTE, kGuest, 0, MPI_COMM_WORLD, &request);
    const double start = MPI_Wtime();
    while (!is_complete && MPI_Wtime() - start < 10) MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE);
    CHECK(is_complete, "an origin of another node has waited for 10 s");
    *has_ended = 1;
  } else if (check_rank == kGuest) {
    for (int turn = 0; turn < 5; ++turn) take_turns(win, 1);
    tell(kTarget);
  } else {
    for (long is_over = 0; !is_over;) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kTarget, 0, win);
      nanosleep(&hold, NULL);
      MPI_Get(&is_over, 1, MPI_LONG, kTarget, 0, 1, MPI_LONG, win);
      MPI_Win_unlock(kTarget, win);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const struct timespec pause = {0, 20000000};
  long* memory;
  MPI_Win win;
  check_start(&argc, &argv);
  const int is_one_node = check_is_one_node();
  MPI_Win_allocate(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 4; ++i) memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == kTarget) {
      hear(kGuest); /* it stands in the queue, at the latest when the next message has been waited for */
      tell(kWaits);
      hear(kComesAndGoes);
      compute(memory);
    } else if (check_rank == kComesAndGoes) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kTarget, 0, win);
      tell(kGuest);
      hear(kWaits);
      tell(kTarget);
      nanosleep(&pause, NULL);
      MPI_Win_unlock(kTarget, win);
      take_turns(win, kTurns);
    } else if (check_rank == kWaits) {
      hear(kTarget);
      tell(kComesAndGoes);
      take_turns(win, 1);
    } else if (check_rank == kGuest) {
      const long value = 7 + round;
      hear(kComesAndGoes);
      if (is_one_node) tell(kTarget);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kTarget, 0, win);
      MPI_Put(&value, 1, MPI_LONG, kTarget, kGuest, 1, MPI_LONG, win);
      if (!is_one_node) tell(kTarget);
      MPI_Win_unlock(kTarget, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(check_rank != kTarget || memory[kGuest] == 7 + round, "%ld", memory[kGuest]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  test_tests(win, memory);
  MPI_Win_free(&win);
  return check_end();
}
