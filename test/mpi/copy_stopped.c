/* A rank that stops, or dies, while it copies its part of a message that both sides copy (decision 0013): who
 * waits for it says so, and once it goes on all bytes are right.  By hand:
 *   DUNLIN_SHARED_COPY_CHUNK_BYTES=1g DUNLIN_WAIT_REPORT=2 mpirun -n 2 copy_stopped stop 0|1
 * the victim is rank 0, which sends, or rank 1, which receives; `kill` in place of `stop` ends it for good.
 *
 * The receiver copies from the front, the sender from the back, half of the message each.  A thread of the
 * receiver watches both halves and strikes when the victim's has begun and not ended.
 * ranks: none
 * variants: none
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kAttempts = 20, kStopped_ms = 3000 };
static const size_t kBytes = 128u << 20;

static int victim, strike;
static pid_t pids[2];
static volatile unsigned char* data;
static atomic_int is_over; /* this rank's call has returned */
static atomic_int has_struck;

static void* watch(void* unused) {
  const size_t begin = victim == 1 ? 0 : kBytes / 2, end = begin + kBytes / 2;
  while (!is_over && !data[begin + (1 << 20)]) continue;
  if (data[end - 1]) return unused;
  has_struck = 1;
  kill(pids[victim], strike);
  return unused;
}

/* In the rank that is not the victim: lets it go on once it has been stopped for long. */
static void* release(void* unused) {
  for (int i = 0; i < kStopped_ms && !is_over; ++i) usleep(1000);
  kill(pids[victim], SIGCONT);
  return unused;
}

/* Whether the victim was stopped with a part of the message in hand, and the other rank waited for it. */
static int attempt(int number) {
  pthread_t watcher, releaser;
  int is_hit = 0;
  memset((void*)data, check_rank == 0 ? number + 1 : 0, kBytes);
  is_over = has_struck = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (check_rank == 1) pthread_create(&watcher, NULL, watch, NULL);
  if (check_rank != victim) pthread_create(&releaser, NULL, release, NULL);
  if (check_rank == 0)
    MPI_Send((void*)data, (int)kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  else
    MPI_Recv((void*)data, (int)kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  is_over = 1;
  if (check_rank != victim) is_hit = MPI_Wtime() - start > kStopped_ms / 1000.;
  if (check_rank == 1) pthread_join(watcher, NULL);
  if (check_rank != victim) pthread_join(releaser, NULL);
  for (size_t i = 0; i < kBytes; ++i) CHECK(data[i] == number + 1, "byte %zu: %d", i, data[i]);
  MPI_Bcast(&is_hit, 1, MPI_INT, !victim, MPI_COMM_WORLD);
  return is_hit;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  CHECK(check_size == 2 && argc == 3, "two ranks: stop|kill victim");
  strike = strcmp(argv[1], "kill") == 0 ? SIGKILL : SIGSTOP;
  victim = atoi(argv[2]);
  const pid_t me = getpid();
  MPI_Allgather(&me, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Alloc_mem((MPI_Aint)kBytes, MPI_INFO_NULL, (void*)&data);
  int number = 0;
  while (!attempt(number)) {
    ++number;
    CHECK(number < kAttempts, "the victim was never met while it copied");
  }
  if (check_rank == 0) printf("stopped while it copied, at attempt %d\n", number + 1);
  MPI_Free_mem((void*)data);
  return check_end();
}
