/* Allreduce in place while a thread of each rank forks, at any moment: what was combined already cannot be
 * combined again, and what others have stored since is not in the forked rank's memory.  ranks: 1 2 3 4
 * variants: none */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll_check.h"

enum { COUNT = 1 << 20, ROUNDS = 60 };

static int* memory;
static atomic_int round_now, round_done, is_over;

/* A child that lives on for a while, and writes over all it has. */
static void* fork_often(void* nothing) {
  for (int seen = 0, turn = 0; !is_over; ++turn) {
    while (round_now == seen && !is_over) sched_yield();
    seen = round_now;
    if ((seen + turn) % check_size == check_rank) {
      usleep((useconds_t)(97 * seen % 700));
      const pid_t child = fork();
      if (child == 0) {
        for (int k = 0; k < COUNT; ++k) memory[k] = -7;
        usleep(15000);
        _exit(0);
      }
      waitpid(child, NULL, 0);
    }
    round_done = seen;
  }
  return nothing;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int sum = check_size * (check_size - 1) / 2;
  pthread_t forker;
  memory = malloc(COUNT * sizeof *memory);
  pthread_create(&forker, NULL, fork_often, NULL);
  for (int round = 0; round < ROUNDS; ++round) {
    const int count = round % 4 == 3 ? COUNT / 31 : COUNT;
    for (int k = 0; k < count; ++k) memory[k] = check_rank + k + round;
    MPI_Barrier(MPI_COMM_WORLD);
    round_now = round + 1;
    MPI_Allreduce(MPI_IN_PLACE, memory, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < count; ++k)
      if (memory[k] != sum + check_size * (k + round)) {
        CHECK(0, "round %d: element %d is %d, not %d", round, k, memory[k], sum + check_size * (k + round));
        break;
      }
    if (round % 4 != 3) continue;
    while (round_done != round_now) sched_yield();
    free(memory); /* what forks left is private */
    memory = malloc(COUNT * sizeof *memory);
  }
  is_over = 1;
  pthread_join(forker, NULL);
  free(memory);
  return check_end();
}
