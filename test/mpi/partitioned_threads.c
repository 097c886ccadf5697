/* MPI_THREAD_MULTIPLE: the threads of a rank make partitions of one send ready at once, others look for those
 * of one receive. */
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kPartitions = 16, kReceived = 8, kInts = 300, kRounds = 40 };
static int out[kPartitions * kInts], in[kPartitions * kInts];
static MPI_Request send, receive;
static pthread_barrier_t together;

static int value(int from, int round, int i) { return from * 7 + round * 100003 + i; }

static void* work(void* argument) {
  const int me = (int)(long)argument, from = (check_rank + check_size - 1) % check_size;
  for (int round = 0; round < kRounds; ++round) {
    pthread_barrier_wait(&together); /* both are started */
    for (int partition = me; partition < kPartitions; partition += kThreads) {
      for (int i = partition * kInts; i < (partition + 1) * kInts; ++i) out[i] = value(check_rank, round, i);
      MPI_Pready(partition, send);
    }
    for (int partition = me; partition < kReceived; partition += kThreads) {
      const int ints = kPartitions / kReceived * kInts;
      for (int flag = 0; !flag;) MPI_Parrived(receive, partition, &flag);
      for (int i = partition * ints; i < (partition + 1) * ints; ++i)
        CHECK(in[i] == value(from, round, i), "thread %d round %d int %d: %d", me, round, i, in[i]);
    }
    pthread_barrier_wait(&together);
  }
  return NULL;
}

int main(int argc, char** argv) {
  check_start_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  pthread_t threads[kThreads];
  pthread_barrier_init(&together, NULL, kThreads + 1);
  MPI_Psend_init(out, kPartitions, kInts, MPI_INT, (check_rank + 1) % check_size, 1, MPI_COMM_WORLD,
                 MPI_INFO_NULL, &send);
  MPI_Precv_init(in, kReceived, kPartitions / kReceived * kInts, MPI_INT,
                 (check_rank + check_size - 1) % check_size, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Start(&receive);
    MPI_Start(&send);
    pthread_barrier_wait(&together);
    if (round % 2) MPI_Wait(&send, MPI_STATUS_IGNORE); /* while the others make its partitions ready */
    pthread_barrier_wait(&together);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  return check_end();
}
