// What waiting costs others.
//
// --mode=compute  ranks 0 and 1 compute while all other ranks wait in MPI_Recv: the percentage of their speed
//                 that the computing ranks keep, against the same work while the others sleep in the
//                 operating system
// --mode=idle     rank 1 waits one second in MPI_Recv: how much CPU time that took, percent of the second
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "sample.h"

static volatile double sink;

static void sleep_seconds(double seconds) {
  const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
}

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// Units of work done in `seconds`.
static double compute_for(double seconds) {
  const double end = bench_now() + seconds;
  double units = 0, value = 1;
  while (bench_now() < end) {
    for (int i = 0; i < 20000; ++i) value = value * 0.999999 + 1e-6;
    ++units;
  }
  sink = value;
  return units / seconds;
}

static void measure_compute(double seconds) {
  const int is_computing = bench_rank < 2;
  char token = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  sleep_seconds(0.1);  // so that the barrier's last leavers are gone
  double alone = 0, beside = 0;
  if (is_computing)
    alone = compute_for(seconds);
  else
    sleep_seconds(seconds + 0.2);
  if (is_computing) {
    sleep_seconds(0.4);  // the others have long entered their receive
    beside = compute_for(seconds);
    for (int rank = 2 + bench_rank; rank < bench_ranks; rank += 2)
      MPI_Send(&token, 1, MPI_CHAR, rank, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&token, 1, MPI_CHAR, bench_rank % 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  const double kept = is_computing ? 100.0 * beside / alone : 100.0;
  const double kept_worst = -bench_largest(-kept);
  bench_sample("compute_beside", bench_ranks, kept_worst, "%");
}

static void measure_idle(double seconds) {
  char token = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double percent = 0;
  if (bench_rank == 0) {
    sleep_seconds(seconds);
    for (int rank = 1; rank < bench_ranks; ++rank) MPI_Send(&token, 1, MPI_CHAR, rank, 1, MPI_COMM_WORLD);
  } else {
    const double before = cpu_seconds(), start = bench_now();
    MPI_Recv(&token, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    percent = 100.0 * (cpu_seconds() - before) / (bench_now() - start);
  }
  const double worst = bench_largest(percent);
  bench_sample("idle_cpu", bench_ranks, worst, "%");
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "waiters");
  const int is_idle = strcmp(bench_text("mode", "compute"), "idle") == 0;
  const double seconds = 1e-3 * (double)bench_option("ms", is_idle ? 1000 : 400);
  for (long repeat = 0; repeat < bench_option("repeats", 3); ++repeat) {
    if (is_idle)
      measure_idle(seconds);
    else
      measure_compute(seconds);
  }
  bench_finish();
  return 0;
}
