/* No helper thread is made for what needs none: with one every call takes a lock, no operation on a window is
 * a plain store any more, and to wake it takes longer than a short collective.  Where helpers are made where
 * they are of use (DUNLIN_HELPER=always, the argument `always`) windows in mapped memory and short ones of
 * nonblocking collectives leave the process with its own thread only, and a long one does not.
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

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int before = threads(), is_made = argc > 1 && strcmp(argv[1], "always") == 0;
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
    CHECK(is_made ? threads() == before + 1 : threads() <= before + 1, "%d with a long one", threads());
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(in);
  free(out);
  return check_end();
}
