/* As rma_sent_window, by collectives: a process gives the memory of its window to collectives while a thread
 * of its own adds to it.  No addition is lost.
 *
 * ranks: 2 variants: none */
#include <pthread.h>

#include "check.h"

enum { kLongs = 1 << 14, kStep = 512, kRounds = 300000 };

static MPI_Win win;
static int is_done; /* by atomic loads and stores */

static void* add(void* none) {
  const long one = 1;
  for (int round = 0; round < kRounds; ++round) {
    for (MPI_Aint i = 0; i < kLongs; i += kStep)
      MPI_Accumulate(&one, 1, MPI_LONG, 1, i, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush(1, win);
  }
  __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
  return none;
}

int main(int argc, char** argv) {
  check_start_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  long* const counters = calloc(kLongs, sizeof *counters);
  long* const result = calloc(kLongs, sizeof *result);
  MPI_Win_create(counters, kLongs * sizeof *counters, sizeof *counters, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  pthread_t adder;
  if (check_rank == 1) pthread_create(&adder, NULL, add, NULL);
  for (int is_over = 0; !is_over;) {
    MPI_Alltoall(counters, kLongs / 2, MPI_LONG, result, kLongs / 2, MPI_LONG, MPI_COMM_WORLD);
    MPI_Scatter(counters, kLongs / 2, MPI_LONG, result, kLongs / 2, MPI_LONG, 1, MPI_COMM_WORLD);
    MPI_Allreduce(counters, result, kLongs, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    is_over = __atomic_load_n(&is_done, __ATOMIC_ACQUIRE);
    MPI_Bcast(&is_over, 1, MPI_INT, 1, MPI_COMM_WORLD);
  }
  if (check_rank == 1) pthread_join(adder, NULL);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kLongs && check_rank == 1; i += kStep)
    CHECK(counters[i] == kRounds, "counter %d is %ld, not %d", i, counters[i], kRounds);
  MPI_Win_free(&win);
  free(counters);
  free(result);
  return check_end();
}
