/* A program that waits for each nonblocking collective at once has no use for the library's thread
 * (DUNLIN_HELPER=always), which is hardly woken: each time takes a system call and a CPU. ranks: none */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "coll_check.h"

enum { FLOATS = 16384, CALLS = 5000 };

/* How often the threads of this process but the calling one have gone to sleep. */
static long sleeps_of_others(void) {
  long sum = 0;
  DIR* const tasks = opendir("/proc/self/task");
  CHECK(tasks, "/proc/self/task");
  for (const struct dirent* each; (each = readdir(tasks));) {
    char path[300], line[200];
    if (each->d_name[0] == '.' || atoi(each->d_name) == getpid()) continue;
    (void)snprintf(path, sizeof path, "/proc/self/task/%s/status", each->d_name);
    FILE* const status = fopen(path, "r");
    CHECK(status, "%s", path);
    long sleeps = 0;
    while (fgets(line, sizeof line, status))
      if (sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps) == 1) sum += sleeps;
    (void)fclose(status);
  }
  (void)closedir(tasks);
  return sum;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  float* const in = calloc(FLOATS, sizeof *in);
  float* const out = calloc(FLOATS, sizeof *out);
  const double start = MPI_Wtime();
  for (int i = 0; i < CALLS; ++i) {
    MPI_Request request;
    MPI_Iallreduce(in, out, FLOATS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  const long looks = (long)((MPI_Wtime() - start) / .005); /* by itself, between its longest naps */
  const long sleeps = sleeps_of_others();
  CHECK(sleeps > 0, "there is no thread of the library's");
  CHECK(sleeps < looks + CALLS / 20, "the library's thread was woken %ld times in %d calls", sleeps, CALLS);
  free(in);
  free(out);
  return check_end();
}
