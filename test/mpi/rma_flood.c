/* Operations by message that nobody flushes for long: memory and time stay in bounds, and a flush returns
 * while another thread goes on with operations.
 * ranks: 1 2 3
 * variants: none */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "check.h"

enum { kOperations = 200000, kGrowthKbMost = 100 << 10, kFlushes = 20 };

static const long one = 1;
static int target;

static long most_kb(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

static void add(MPI_Win win, int place) {
  MPI_Accumulate(&one, 1, MPI_LONG, target, place, 1, MPI_LONG, MPI_SUM, win);
}

static void unflushed(MPI_Win win) {
  const long before = most_kb();
  for (int i = 0; i < kOperations; ++i) add(win, 0);
  MPI_Win_flush(target, win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(most_kb() - before < kGrowthKbMost, "%ld KiB more", most_kb() - before);
}

/* The runs at the target take more room than their bytes. */
static void unflushed_runs(void) {
  enum { kRuns = 1 << 14, kTimes = 600 };
  char memory[2 * kRuns] = {0};
  static char given[kRuns];
  MPI_Win win;
  MPI_Datatype every_other;
  MPI_Type_vector(kRuns, 1, 2, MPI_CHAR, &every_other);
  MPI_Type_commit(&every_other);
  for (int i = 0; i < kRuns; ++i) given[i] = (char)(i % 100 + 1);
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  const long before = most_kb();
  for (int i = 0; i < kTimes; ++i)
    MPI_Accumulate(given, kRuns, MPI_CHAR, target, 0, 1, every_other, MPI_REPLACE, win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(most_kb() - before < kGrowthKbMost, "%ld KiB more", most_kb() - before);
  for (int i = 0; i < kRuns; ++i)
    CHECK(memory[2 * i] == given[i] && memory[2 * i + 1] == 0, "[%d] %d, %d", i, memory[2 * i],
          memory[2 * i + 1]);
  MPI_Win_free(&win);
  MPI_Type_free(&every_other);
}

static atomic_int has_flushed;
static void* go_on(void* win) {
  while (!has_flushed) add(*(MPI_Win*)win, 1);
  return NULL;
}

/* What the other thread begins behind a flush is not awaited. */
static void flushed_beside_a_thread(MPI_Win win) {
  pthread_t thread;
  pthread_create(&thread, NULL, go_on, &win);
  for (int i = 0; i < kFlushes; ++i) {
    add(win, 2);
    if (i % 2)
      MPI_Win_flush(target, win);
    else
      MPI_Win_flush_all(win);
  }
  has_flushed = 1;
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  long memory[3] = {0}; /* on the stack, which maps nowhere */
  MPI_Win win;
  check_start_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  target = (check_rank + 1) % check_size;
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  unflushed(win);
  unflushed_runs();
  flushed_beside_a_thread(win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[0] == kOperations && memory[2] == kFlushes, "%ld, %ld", memory[0], memory[2]);
  MPI_Win_free(&win);
  return check_end();
}
