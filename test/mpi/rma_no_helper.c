/* No helper thread is made for a window that needs none: with one every call takes a lock, and no operation is
 * a plain store any more.  Where helpers are made wherever they are of use (DUNLIN_HELPER=always), the process
 * still has its own thread only.
 *
 * ranks: 2 3
 *
 * variants: none
 */
#include <dirent.h>

#include "check.h"

static int threads(void) {
  DIR* const tasks = opendir("/proc/self/task");
  CHECK(tasks, "/proc/self/task");
  int count = 0;
  for (const struct dirent* each; (each = readdir(tasks));) count += each->d_name[0] != '.';
  closedir(tasks);
  return count;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int before = threads();
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
  CHECK(threads() == before, "%d threads, and %d before the windows", threads(), before);
  MPI_Win_free(&of_malloc);
  MPI_Win_free(&of_shared);
  MPI_Win_free(&of_allocated);
  free(block);
  return check_end();
}
