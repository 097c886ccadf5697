/* MPI_THREAD_MULTIPLE: threads on one and on several communicators exchange at once, blocking and not. */
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kRounds = 200 };
static MPI_Comm comms[kThreads];

static void* work(void* argument) {
  const int me = (int)(long)argument;
  const int left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size;
  for (int round = 0; round < kRounds; ++round) {
    int out = check_rank * 100000 + me * 1000 + round, in = -1;
    MPI_Request request;
    /* Odd rounds: all threads on MPI_COMM_WORLD, told apart by tag. */
    MPI_Comm comm = round % 2 ? MPI_COMM_WORLD : comms[me];
    MPI_Irecv(&in, 1, MPI_INT, left, me, comm, &request);
    if (round % 3 == 0)
      MPI_Ssend(&out, 1, MPI_INT, right, me, comm);
    else
      MPI_Send(&out, 1, MPI_INT, right, me, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in == left * 100000 + me * 1000 + round, "thread %d round %d: %d", me, round, in);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE, "provided %d", provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &check_size);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comms[i]);
  return check_end();
}
