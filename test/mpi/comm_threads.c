/* MPI_THREAD_MULTIPLE: threads make communicators of different parents, and groups under different tags, at
 * the same time. */
#include <pthread.h>

#include "comm_check.h"

enum { kThreads = 4, kRounds = 30 };

static MPI_Comm parents[kThreads];

static void* make(void* argument) {
  const int me = (int)(long)argument;
  MPI_Group group;
  int round;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  for (round = 0; round < kRounds; ++round) {
    MPI_Comm dup, half, named;
    MPI_Comm_dup(parents[me], &dup);
    MPI_Comm_split(dup, check_rank % 2, check_rank, &half);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, me, &named); /* one parent, told apart by the tag */
    check_intra(dup, "dup in a thread");
    check_intra(half, "split in a thread");
    check_intra(named, "create_group in a thread");
    MPI_Comm_free(&dup);
    MPI_Comm_free(&half);
    MPI_Comm_free(&named);
  }
  MPI_Group_free(&group);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  int provided, i;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &check_size);
  CHECK(provided == MPI_THREAD_MULTIPLE, "provided %d", provided);
  for (i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
  for (i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, make, (void*)(long)i);
  for (i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (i = 0; i < kThreads; ++i) MPI_Comm_free(&parents[i]);
  return check_end();
}
