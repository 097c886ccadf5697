/* A send blocked by a full ring sleeps until the receiver makes room: it does not look again and again.
   One that sleeps until its message meets is woken then, and copies while the receiver computes.
   ranks: 2 3
   variants: none */
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "check.h"

enum { kMessages = 20000 };

static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

static void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) continue;
}

static void expect_late_receiver_costs_nothing(void) {
  enum { kBytes = 16 << 20 };
  char* const data = malloc(kBytes);
  memset(data, check_rank, kBytes);
  double least = 1;
  for (int round = 0; round < 3; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (check_rank == 0) {
      MPI_Send(data, kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      const double late = MPI_Wtime() - start - .2;
      if (late < least) least = late;
    } else if (check_rank == 1) {
      MPI_Request request;
      const struct timespec pause = {0, 200000000};
      nanosleep(&pause, NULL);
      int flag;
      MPI_Irecv(data, kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE); /* the message is there, they meet */
      compute(.2);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  CHECK(check_rank != 0 || least < .1, "%f ms after the receive", least * 1000);
  free(data);
}

/* The receiver has met and computes; the sender waits, also for something else, and copies before it sleeps.
 */
static void expect_wait_helps(void) {
  enum { kBytes = 4 << 20, kSeconds = 2 };
  char* const data = malloc(kBytes);
  memset(data, check_rank, kBytes);
  MPI_Request requests[2];
  int which = -1, flag = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) {
    MPI_Irecv(&flag, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(data, kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[0]);
    const double start = MPI_Wtime();
    MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
    const double late = MPI_Wtime() - start;
    CHECK(which == 0 && late < kSeconds / 2., "request %d after %f s", which, late);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else if (check_rank == 1) {
    MPI_Irecv(data, kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, requests);
    for (int i = 0; i < 4 && !flag; ++i) {
      compute(.05);
      MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
    }
    compute(kSeconds);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    MPI_Send(&flag, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  } else {
    compute(kSeconds);
  }
  free(data);
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
  } else if (check_rank == 1) {
    const struct timespec second = {1, 0};
    nanosleep(&second, NULL);
    for (int i = 0; i < 2000; ++i) MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kMessages; ++i) {
      MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(word == i, "%d instead of %d", word, i);
    }
  }
  expect_late_receiver_costs_nothing();
  expect_wait_helps();
  return check_end();
}
