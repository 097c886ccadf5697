/* Several threads of each rank work on the windows of all ranks at once: counters, slots of their own, locks;
 * and make windows at once, each of a communicator of its own. */
#include <pthread.h>

#include "check.h"

enum { kThreads = 3, kTurns = 100 };

struct work {
  MPI_Win all, locked; /* the one under lock_all, the other locked by one thread of each rank */
  int number;
};

static void count_and_write(const struct work* w) {
  const long one = 1;
  const int slot = 8 + check_rank * kThreads + w->number;
  for (int i = 0; i < kTurns; ++i) {
    const int target = (check_rank + i) % check_size;
    const long value = 1000L * i + w->number;
    long before, back = -1;
    double half = 0.5;
    MPI_Request request;
    MPI_Fetch_and_op(&one, &before, MPI_LONG, target, 0, MPI_SUM, w->all);
    MPI_Accumulate(&half, 1, MPI_DOUBLE, target, 1, 1, MPI_DOUBLE, MPI_SUM, w->all);
    MPI_Rput(&value, 1, MPI_LONG, target, slot, 1, MPI_LONG, w->all, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(target, w->all);
    MPI_Get(&back, 1, MPI_LONG, target, slot, 1, MPI_LONG, w->all);
    MPI_Win_flush(target, w->all);
    CHECK(back == value, "%ld, not %ld", back, value);
  }
}

static void lock_and_count(const struct work* w) {
  for (int i = 0; i < kTurns; ++i) {
    const int target = (check_rank + i) % check_size;
    long value;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->locked);
    MPI_Get(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, w->locked);
    MPI_Win_flush(target, w->locked);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, w->locked);
    MPI_Win_unlock(target, w->locked);
  }
}

static void* run(void* argument) {
  const struct work* w = argument;
  if (w->number == 0)
    lock_and_count(w);
  else
    count_and_write(w);
  return NULL;
}

static long sum_of(long mine) {
  long sum;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/* Of every other communicator the last rank is the first. */
static void* make_windows(void* argument) {
  MPI_Comm* const comm = argument;
  for (int i = 0; i < kTurns; ++i) {
    long* memory;
    MPI_Win win;
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, *comm, &memory, &win);
    MPI_Win_free(&win);
  }
  return NULL;
}

static void test_making(void) {
  MPI_Comm comms[kThreads];
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -check_rank : check_rank, &comms[i]);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, make_windows, &comms[i]);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comms[i]);
}

int main(int argc, char** argv) {
  struct work works[kThreads];
  pthread_t threads[kThreads];
  MPI_Win all, locked;
  long *counters, *counter;
  check_start_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  const MPI_Aint longs = 8 + kThreads * check_size;
  MPI_Win_allocate(longs * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &counters,
                   &all);
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &locked);
  MPI_Win_lock_all(0, all);
  for (int i = 0; i < kThreads; ++i) {
    works[i] = (struct work){all, locked, i};
    pthread_create(&threads[i], NULL, run, &works[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  MPI_Win_unlock_all(all);
  MPI_Barrier(MPI_COMM_WORLD);
  const long turns = (long)kTurns * check_size;
  const double halves = ((double*)(void*)counters)[1];
  CHECK(sum_of(counters[0]) == (kThreads - 1) * turns, "%ld", counters[0]);
  CHECK(sum_of((long)(2 * halves)) == (kThreads - 1) * turns, "%f", halves);
  CHECK(sum_of(counter[0]) == turns, "%ld", counter[0]);
  MPI_Win_free(&locked);
  MPI_Win_free(&all);
  test_making();
  return check_end();
}
