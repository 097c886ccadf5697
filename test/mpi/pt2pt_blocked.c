/* A send blocked by a full ring sleeps until the receiver makes room: it does not look again and again.
   ranks: 2 */
#include <sys/resource.h>
#include <time.h>

#include "check.h"

enum { kMessages = 20000 };

static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  int word = 0;
  if (check_rank == 0) {
    const long before = switches();
    /* More than a ring holds. */
    for (int i = 0; i < 2000; ++i) MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    const long switched = switches() - before;
    CHECK(switched < 500, "%ld in one second", switched);
    for (int i = 0; i < kMessages; ++i) MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else {
    const struct timespec second = {1, 0};
    nanosleep(&second, NULL);
    for (int i = 0; i < 2000; ++i) MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kMessages; ++i) {
      MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(word == i, "%d instead of %d", word, i);
    }
  }
  return check_end();
}
