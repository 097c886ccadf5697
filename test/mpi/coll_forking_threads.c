/* Long collectives while a thread of each rank forks, at any moment: what was combined in place cannot be
 * combined again, and what others have stored since is not in the forked rank's memory.  And with memory that
 * others cannot reach on some ranks only.  ranks: 1 2 3 4 variants: none */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll_check.h"

enum { COUNT = 1 << 18, ROUNDS = 20 };

static int *memory, *others;
static atomic_int round_now, round_done, is_over;

/* A child that lives on for a while, and writes over all it has. */
static void* fork_often(void* nothing) {
  for (int seen = 0, turn = 0; !is_over; ++turn) {
    while (round_now == seen && !is_over) sched_yield();
    seen = round_now;
    if ((seen + turn) % check_size == check_rank) {
      usleep((useconds_t)(97 * seen % 400));
      const pid_t child = fork();
      if (child == 0) {
        for (int k = 0; k < COUNT; ++k) memory[k] = others[k] = -7;
        usleep(15000);
        _exit(0);
      }
      waitpid(child, NULL, 0);
    }
    round_done = seen;
  }
  return nothing;
}

typedef void Collective(int count, int round);

static void in_place(int count, int round) {
  const int sum = check_size * (check_size - 1) / 2;
  MPI_Allreduce(MPI_IN_PLACE, memory, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int k = 0; k < count; ++k)
    if (memory[k] != sum + check_size * (k + round)) {
      CHECK(0, "round %d: sum %d is %d, not %d", round, k, memory[k], sum + check_size * (k + round));
      return;
    }
}

/* `block` elements of a member's, as it was filled. */
static void check_block(const int* at, int block, int first, int value, const char* what) {
  for (int k = 0; k < block; ++k)
    if (at[k] != value + first + k) {
      CHECK(0, "%s: element %d is %d, not %d", what, k, at[k], value + first + k);
      return;
    }
}

static void broadcast(int count, int round) {
  const int root = round % check_size;
  MPI_Bcast(memory, count, MPI_INT, root, MPI_COMM_WORLD);
  check_block(memory, count, 0, root + round, "bcast");
}

static void gather(int count, int round) {
  const int root = round % check_size, block = count / check_size;
  MPI_Gather(memory, block, MPI_INT, others, block, MPI_INT, root, MPI_COMM_WORLD);
  for (int rank = 0; check_rank == root && rank < check_size; ++rank)
    check_block(others + rank * block, block, 0, rank + round, "gather");
}

static void scatter(int count, int round) {
  const int root = round % check_size, block = count / check_size;
  MPI_Scatter(memory, block, MPI_INT, others, block, MPI_INT, root, MPI_COMM_WORLD);
  check_block(others, block, check_rank * block, root + round, "scatter");
}

static void run(Collective* call, int count, int round) {
  for (int k = 0; k < count; ++k) memory[k] = check_rank + k + round, others[k] = UNSET;
  MPI_Barrier(MPI_COMM_WORLD);
  ++round_now;
  call(count, round);
}

static Collective* const calls[] = {in_place, broadcast, gather, scatter};
enum { CALLS = sizeof calls / sizeof calls[0] };

static void forking(void) {
  pthread_t forker;
  memory = malloc(COUNT * sizeof *memory), others = malloc(COUNT * sizeof *others);
  pthread_create(&forker, NULL, fork_often, NULL);
  for (int i = 0; i < CALLS; ++i)
    for (int round = 0; round < ROUNDS; ++round) {
      run(calls[i], round % 4 == 3 ? COUNT / 31 : COUNT, round);
      if (round % 2 == 0) continue;
      while (round_done != round_now) sched_yield();
      free(memory), free(others); /* what forks left is private */
      memory = malloc(COUNT * sizeof *memory), others = malloc(COUNT * sizeof *others);
    }
  is_over = 1;
  pthread_join(forker, NULL);
  free(memory), free(others);
}

/* On the ranks of `places`, bit by bit, from the stack. */
static void from_stack(unsigned places) {
  int on_stack[2][COUNT];
  int* const from_heap = malloc(2 * COUNT * sizeof *from_heap);
  const int is_on_stack = places >> check_rank & 1;
  memory = is_on_stack ? on_stack[0] : from_heap;
  others = is_on_stack ? on_stack[1] : from_heap + COUNT;
  for (int i = 0; i < CALLS; ++i)
    for (int round = 0; round < check_size; ++round) run(calls[i], COUNT, round), run(calls[i], 15000, round);
  free(from_heap);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  forking();
  for (unsigned places = 0; places < 1u << check_size; ++places) from_stack(places);
  return check_end();
}
