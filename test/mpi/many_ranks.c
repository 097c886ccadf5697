/* Many more ranks than CPUs, of which each sends to all: no call takes longer than its messages do, and no
 * rank more memory than its rings need.  The long set has it, with 512 ranks.
 *
 * The same by a quarter of the ranks, in the same job, says what a message takes on this machine: 16 times
 * as many pairs may take 16 times as long, and twice that; so of the time that passes, and of the CPUs' time,
 * which nothing else on the machine changes much.
 * ranks: none
 * variants: none
 */
#include <string.h>
#include <sys/resource.h>

#include "check.h"

enum { kCalls = 4, kBytes = 2048, kTimesMax = 2 * 4 * 4, kRankBytesMax = 9000000 };

static long pss_bytes(void) {
  char line[256];
  long kb = 0;
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "Pss: %ld", &kb) == 1) break;
  if (file) fclose(file);
  return kb * 1024;
}

/* In seconds. */
static double used_cpu(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

typedef struct {
  double seconds, cpu_seconds; /* until all ranks have ended, of all ranks; each of the quickest call */
} Time;

/* Behind the first call, which connects the ranks. */
static Time later_call(MPI_Comm comm, char* out, char* in) {
  Time best = {1e9, 1e9};
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int call = 0; call <= kCalls; ++call) {
    for (int i = 0; i < size; ++i) memset(out + (size_t)i * kBytes, rank + i + call, kBytes);
    MPI_Barrier(comm);
    const double start = MPI_Wtime(), start_cpu = used_cpu();
    MPI_Alltoall(out, kBytes, MPI_BYTE, in, kBytes, MPI_BYTE, comm);
    MPI_Barrier(comm);
    const double took = MPI_Wtime() - start;
    double cpu = used_cpu() - start_cpu;
    MPI_Allreduce(MPI_IN_PLACE, &cpu, 1, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < size; ++i) {
      const char wanted = (char)(rank + i + call), *block = in + (size_t)i * kBytes;
      CHECK(block[0] == wanted && block[kBytes - 1] == wanted, "from %d: %d, not %d", i, block[0], wanted);
    }
    if (call > 0 && took < best.seconds) best.seconds = took;
    if (call > 0 && cpu < best.cpu_seconds) best.cpu_seconds = cpu;
  }
  return best;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  CHECK(check_size >= 8 && check_size % 4 == 0, "quarters of the ranks");
  const size_t all = (size_t)check_size * kBytes;
  char *out = malloc(all), *in = malloc(all);
  MPI_Comm part;
  const int is_in_part = check_rank < check_size / 4;
  MPI_Comm_split(MPI_COMM_WORLD, is_in_part ? 0 : MPI_UNDEFINED, check_rank, &part);
  Time part_time = {0, 0};
  if (is_in_part) {
    part_time = later_call(part, out, in);
    MPI_Comm_free(&part);
  }
  const Time time = later_call(MPI_COMM_WORLD, out, in);
  long bytes = pss_bytes();
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  bytes /= check_size;
  if (check_rank == 0) {
    printf("%d ranks: %.3f s, %.3f s of CPUs; %d ranks: %.3f s, %.3f s of CPUs; %.1f MB a rank\n",
           check_size / 4, part_time.seconds, part_time.cpu_seconds, check_size, time.seconds,
           time.cpu_seconds, (double)bytes / 1e6);
    CHECK(time.seconds < kTimesMax * part_time.seconds, "%f s, and %f", time.seconds, part_time.seconds);
    CHECK(time.cpu_seconds < kTimesMax * part_time.cpu_seconds, "%f s of CPUs, and %f", time.cpu_seconds,
          part_time.cpu_seconds);
    CHECK(bytes > 0 && bytes < kRankBytesMax, "%ld bytes of memory a rank", bytes);
  }
  free(out);
  free(in);
  return check_end();
}
