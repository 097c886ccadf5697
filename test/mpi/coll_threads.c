/* MPI_THREAD_MULTIPLE: threads do collectives at once, each on a communicator of its own, blocking and not.
 */
#include <pthread.h>

#include "coll_check.h"

enum { THREADS = 4, REPEATS = 60, COUNT = 300 };
static MPI_Comm comms[THREADS];

static void* work(void* argument) {
  const int me = (int)(long)argument;
  const MPI_Comm on = comms[me];
  int out[COUNT], in[COUNT], *all = malloc((size_t)check_size * sizeof(int));
  for (int round = 0; round < REPEATS; ++round) {
    MPI_Request requests[2];
    const int mine = check_rank * 1000 + me * 100 + round, root = round % check_size;
    for (int i = 0; i < COUNT; ++i) out[i] = mine + i;
    MPI_Allreduce(out, in, round % 2 ? COUNT : 1, MPI_INT, MPI_SUM, on);
    const int sum = check_size * (check_size - 1) / 2 * 1000 + check_size * (me * 100 + round);
    CHECK(in[0] == sum, "thread %d round %d: sum %d instead of %d", me, round, in[0], sum);
    if (round % 2) CHECK(in[COUNT - 1] == sum + check_size * (COUNT - 1), "thread %d round %d", me, round);
    int word = check_rank == root ? mine : -1;
    MPI_Ibcast(&word, 1, MPI_INT, root, on, &requests[0]);
    MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, on, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(word == root * 1000 + me * 100 + round, "thread %d round %d: word %d", me, round, word);
    for (int i = 0; i < check_size; ++i)
      CHECK(all[i] == i * 1000 + me * 100 + round, "thread %d round %d: of rank %d: %d", me, round, i,
            all[i]);
    MPI_Barrier(on);
  }
  free(all);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  pthread_t threads[THREADS];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &check_size);
  CHECK(provided == MPI_THREAD_MULTIPLE, "provided %d", provided);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&comms[i]);
  return check_end();
}
