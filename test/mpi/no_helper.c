/* No helper thread is made for what needs none: with one every call takes a lock, no operation on a window is
 * a plain store any more, and to wake it takes longer than a short collective.  Where helpers are made where
 * they are of use (DUNLIN_HELPER=always, the argument `always`) windows in mapped memory and short ones of
 * nonblocking collectives leave the process with its own thread only, and a long one does not; and a helper
 * that has nothing to do sleeps.  Where ranks leave no CPU free (the argument `crowded`) none is ever made
 * unasked.
 *
 * ranks: 2 3
 *
 * variants: none
 */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kLong = 1 << 20, kKinds = 6 };

static int threads(void) {
  DIR* const tasks = opendir("/proc/self/task");
  CHECK(tasks, "/proc/self/task");
  int count = 0;
  for (const struct dirent* each; (each = readdir(tasks));) count += each->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static void open_windows(void) {
  long *allocated, *shared;
  MPI_Win of_allocated, of_shared, of_malloc;
  void* const block = malloc(1 << 20);
  MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &of_allocated);
  MPI_Win_allocate_shared(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &of_shared);
  MPI_Win_create(block, 1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &of_malloc);
  const long one = 1;
  MPI_Win_lock_all(0, of_allocated);
  MPI_Put(&one, 1, MPI_LONG, (check_rank + 1) % check_size, 0, 1, MPI_LONG, of_allocated);
  MPI_Win_unlock_all(of_allocated);
  MPI_Win_free(&of_malloc);
  MPI_Win_free(&of_shared);
  MPI_Win_free(&of_allocated);
  free(block);
}

/* Begun by all before the last rank comes. */
static void begin(int kind, int* in, int* out, MPI_Request* request) {
  switch (kind) {
    case 0:
      MPI_Ibarrier(MPI_COMM_WORLD, request);
      break;
    case 1:
      MPI_Ibcast(in, 1, MPI_INT, check_size - 1, MPI_COMM_WORLD, request);
      break;
    case 2:
      MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
      break;
    case 3:
      MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD, request);
      break;
    case 4:
      MPI_Igather(in, 1, MPI_INT, out, 1, MPI_INT, 0, MPI_COMM_WORLD, request);
      break;
    case 5:
      MPI_Iscan(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
      break;
    default:
      MPI_Iallreduce(in, out, kLong, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
      break;
  }
}

/* Context switches of the threads that are not the program's own: so often they slept or were interrupted. */
static long switches_of_helper(void) {
  long sum = 0;
  DIR* const tasks = opendir("/proc/self/task");
  for (const struct dirent* each; (each = readdir(tasks));) {
    char path[300], line[200];
    if (each->d_name[0] == '.' || atol(each->d_name) == getpid()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", each->d_name);
    FILE* const status = fopen(path, "r");
    CHECK(status, "%s", path);
    while (fgets(line, sizeof line, status)) {
      const char* const figure = strstr(line, "ctxt_switches:");
      if (figure) sum += atol(figure + strlen("ctxt_switches:"));
    }
    fclose(status);
  }
  closedir(tasks);
  return sum;
}

static void expect_idle_helper_sleeps(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(100000); /* it may look for a while */
  const long before = switches_of_helper();
  usleep(1000000);
  const long switched = switches_of_helper() - before;
  CHECK(switched < 20, "the helper was switched to or from %ld times in a second", switched);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int before = threads(), is_made = argc > 1 && strcmp(argv[1], "always") == 0;
  const int is_crowded = argc > 1 && strcmp(argv[1], "crowded") == 0;
  int* const in = calloc(kLong, sizeof *in);
  int* const out = calloc(kLong, sizeof *out);
  open_windows();
  for (int kind = 0; kind < kKinds; ++kind) {
    MPI_Request request;
    if (check_rank == check_size - 1) usleep(20000);
    begin(kind, in, out, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(threads() == before, "%d threads, and %d before, kind %d", threads(), before, kind);
  }
  MPI_Request request;
  if (check_rank == check_size - 1) usleep(20000);
  begin(kKinds, in, out, &request);
  if (check_rank == 0) /* where a CPU is free one is made unasked */
    CHECK(is_made ? threads() == before + 1 : threads() <= before + !is_crowded, "%d with a long one",
          threads());
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(!is_crowded || threads() == before, "%d threads, and %d before, at the end", threads(), before);
  if (is_made) expect_idle_helper_sleeps();
  free(in);
  free(out);
  return check_end();
}
