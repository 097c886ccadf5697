/* A rank that waits for another node sleeps, and a message ends its sleep: it has used little of its CPU, and
 * has its message sooner than the clock would have woken it (every 100 ms).  Median of several messages, each
 * sent after a pause outside MPI; both ranks read one clock.
 *
 * ranks: 2 4
 *
 * variants: none
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kMessages = 9, kPauseMs = 300, kLateMsMax = 20, kCpuPercentMax = 20 };

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare(const void* one, const void* other) {
  const double difference = *(const double*)one - *(const double*)other;
  return (difference > 0) - (difference < 0);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int last = check_size - 1;
  double sent, late[kMessages];
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = seconds_of(CLOCK_MONOTONIC), cpu_began = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < kMessages; ++i) {
    if (check_rank == 0) {
      usleep(kPauseMs * 1000);
      sent = seconds_of(CLOCK_MONOTONIC);
      MPI_Send(&sent, 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD);
    } else if (check_rank == last) {
      MPI_Recv(&sent, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      late[i] = seconds_of(CLOCK_MONOTONIC) - sent;
    }
  }
  if (check_rank == last) {
    const double percent = 100 * (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_began) /
                           (seconds_of(CLOCK_MONOTONIC) - began);
    qsort(late, kMessages, sizeof *late, compare);
    const double median_ms = late[kMessages / 2] * 1e3;
    CHECK(median_ms <= kLateMsMax, "a message ended the sleep after %.1f ms", median_ms);
    CHECK(percent <= kCpuPercentMax, "a rank that waited used %.1f %% of a CPU", percent);
  }
  const int failed = check_end();
  if (failed) return failed;
  pthread_exit(NULL); /* the process ends with its last thread: the library keeps none */
}
