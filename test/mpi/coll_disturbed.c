/* Collectives while the program does what few expect: many communicators that are freed under operations on
 * them, forks between the start of an operation and its end, persistent operations started hundreds of times,
 * operators that take their time, operands in memory that cannot be written, more elements than an int
 * counts. ranks: 1 2 3 5 8 variants: none */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll_check.h"

enum { COMMS = 60, ROUNDS = 3, LONG = 40000, STARTS = 300, ELEMENTS = 1000 };

static int sum_of_ranks(int size) { return size * (size - 1) / 2; }

/* Every communicator is freed with two operations under way; the next round gets its memory again. */
static void freed_under_way(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    static int *sums[COMMS], *words[COMMS];
    MPI_Request requests[2 * COMMS];
    for (int i = 0; i < COMMS; ++i) {
      const int count = i % 5 == 0 ? LONG : 1 + i;
      MPI_Comm comm;
      int rank, size;
      MPI_Comm_split(MPI_COMM_WORLD, i % 3 == 0 ? check_rank % 2 : 0, -check_rank, &comm);
      MPI_Comm_rank(comm, &rank);
      MPI_Comm_size(comm, &size);
      sums[i] = malloc((size_t)count * sizeof(int));
      words[i] = malloc((size_t)count * sizeof(int));
      for (int k = 0; k < count; ++k) sums[i][k] = rank + k, words[i][k] = rank == i % size ? k - i : UNSET;
      MPI_Iallreduce(MPI_IN_PLACE, sums[i], count, MPI_INT, MPI_SUM, comm, &requests[2 * i]);
      MPI_Ibcast(words[i], count, MPI_INT, i % size, comm, &requests[2 * i + 1]);
      MPI_Comm_free(&comm);
    }
    MPI_Waitall(2 * COMMS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COMMS; ++i) {
      const int count = i % 5 == 0 ? LONG : 1 + i;
      const int size = i % 3 != 0 ? check_size : check_rank % 2 ? check_size / 2 : (check_size + 1) / 2;
      for (int k = 0; k < count; ++k) {
        CHECK(sums[i][k] == sum_of_ranks(size) + size * k, "sum %d of communicator %d is %d", k, i,
              sums[i][k]);
        CHECK(words[i][k] == k - i, "word %d of communicator %d is %d", k, i, words[i][k]);
      }
      free(sums[i]), free(words[i]);
    }
  }
}

/* The child writes over what it has; its parent's operations must not see that, nor it theirs. */
static pid_t fork_a_writer(int* memory, size_t ints) {
  const pid_t child = fork();
  if (child == 0) {
    for (size_t i = 0; i < ints; ++i) memory[i] = -7;
    usleep(20000);
    _exit(0);
  }
  return child;
}

static void forks(int count) {
  const size_t ints = (size_t)count;
  int* const memory = calloc(3 * ints, sizeof(int));
  int *const operand = memory, *const result = memory + ints, *const both = memory + 2 * ints;
  MPI_Request requests[2], again;
  MPI_Allreduce_init(operand, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &again);
  for (int forker = 0; forker < check_size; ++forker)
    for (int mode = 0; mode < 3; ++mode) {
      for (int k = 0; k < count; ++k)
        operand[k] = check_rank + k, both[k] = check_rank - k, result[k] = UNSET;
      pid_t child = 0;
      if (mode == 0 && check_rank == forker) child = fork_a_writer(memory, 3 * ints);
      if (check_rank == (forker + 1) % check_size) usleep(3000);
      MPI_Start(&again);
      MPI_Iallreduce(MPI_IN_PLACE, both, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
      if (mode == 1 && check_rank == forker) child = fork_a_writer(memory, 3 * ints);
      MPI_Wait(&again, MPI_STATUS_IGNORE);
      if (mode == 2 && check_rank == forker) child = fork_a_writer(memory, 3 * ints);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      for (int k = 0; k < count; ++k) {
        CHECK(operand[k] == check_rank + k, "operand %d is %d", k, operand[k]);
        CHECK(result[k] == sum_of_ranks(check_size) + check_size * k, "forker %d, mode %d: result %d is %d",
              forker, mode, k, result[k]);
        CHECK(both[k] == sum_of_ranks(check_size) - check_size * k, "forker %d, mode %d: in place %d is %d",
              forker, mode, k, both[k]);
      }
      if (child > 0) CHECK(waitpid(child, NULL, 0) == child, "the child is ours");
    }
  MPI_Request_free(&again);
  free(memory);
}

static void started_often(void) {
  enum { AT_ONCE = 9 };
  MPI_Request requests[AT_ONCE];
  int out[AT_ONCE], in[AT_ONCE];
  for (int i = 0; i < AT_ONCE; ++i)
    MPI_Allreduce_init(&out[i], &in[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  for (int start = 0; start < STARTS; ++start) {
    for (int i = 0; i < AT_ONCE; ++i) out[i] = check_rank + start + i;
    MPI_Startall(AT_ONCE, requests);
    MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < AT_ONCE; ++i)
      CHECK(in[i] == sum_of_ranks(check_size) + check_size * (start + i), "start %d of %d: %d", start, i,
            in[i]);
  }
  for (int i = 0; i < AT_ONCE; ++i) MPI_Request_free(&requests[(i + check_rank) % AT_ONCE]);
}

/* a x + b after c x + d, as in coll_reduction.c; each call takes a while on one rank. */
static void compose_slowly(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  if (check_rank == check_size / 2) usleep(200);
  const unsigned(*left)[2] = in;
  unsigned(*right)[2] = inout;
  for (int i = 0; i < *count; ++i) {
    right[i][1] = left[i][0] * right[i][1] + left[i][1];
    right[i][0] = left[i][0] * right[i][0];
  }
}

static void slow_operators(int count) {
  MPI_Datatype pair;
  MPI_Op compose;
  MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(compose_slowly, 0, &compose);
  unsigned(*out)[2] = malloc((size_t)count * sizeof *out), (*in)[2] = malloc((size_t)count * sizeof *out);
  unsigned(*before)[2] = malloc((size_t)count * sizeof *out);
  MPI_Request requests[2];
  for (int i = 0; i < count; ++i)
    out[i][0] = (unsigned)(2 * check_rank + 3 + i), out[i][1] = (unsigned)(check_rank * 7 + i);
  MPI_Iallreduce(out, in, count, pair, compose, MPI_COMM_WORLD, &requests[0]);
  MPI_Iscan(out, before, count, pair, compose, MPI_COMM_WORLD, &requests[1]);
  MPI_Op_free(&compose);
  MPI_Type_free(&pair);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) {
    unsigned a = 1, b = 0;
    for (int rank = 0; rank < check_size; ++rank) {
      b += a * (unsigned)(rank * 7 + i), a *= (unsigned)(2 * rank + 3 + i);
      if (rank == check_rank) CHECK(before[i][0] == a && before[i][1] == b, "prefix %d", i);
    }
    CHECK(in[i][0] == a && in[i][1] == b, "element %d", i);
  }
  free(out), free(in), free(before);
}

/* A constant, and pages that only read. */
static void read_only_operands(void) {
  static const int constant[4] = {1, 2, 3, 4};
  int sums[4], *all = malloc((size_t)check_size * LONG * sizeof(int));
  MPI_Allreduce(constant, sums, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) CHECK(sums[i] == check_size * (i + 1), "sum %d", sums[i]);
  int* const pages =
      mmap(NULL, LONG * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < LONG; ++i) pages[i] = check_rank * 3 + i;
  mprotect(pages, LONG * sizeof(int), PROT_READ);
  MPI_Allgather(pages, LONG, MPI_INT, all, LONG, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < check_size * LONG; ++i)
    CHECK(all[i] == i / LONG * 3 + i % LONG, "word %d is %d", i, all[i]);
  MPI_Allreduce(pages, all, LONG, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < LONG; ++i) CHECK(all[i] == (check_size - 1) * 3 + i, "maximum %d is %d", i, all[i]);
  munmap(pages, LONG * sizeof(int));
  free(all);
}

/* 2^32 + 5 elements without data. */
static void many_elements(void) {
  const MPI_Count count = ((MPI_Count)1 << 32) + 5;
  MPI_Datatype nothing;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  char byte = 0, bytes[64];
  MPI_Bcast_c(&byte, count, nothing, check_size - 1, MPI_COMM_WORLD);
  MPI_Allgather_c(&byte, count, nothing, bytes, count, nothing, MPI_COMM_WORLD);
  MPI_Allreduce_c(&byte, bytes, 1, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
  MPI_Type_free(&nothing);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  freed_under_way();
  forks(100);
  forks(ELEMENTS * 30);
  forks(ELEMENTS * 400);
  started_often();
  slow_operators(5);
  slow_operators(ELEMENTS * 10);
  read_only_operands();
  many_elements();
  return check_end();
}
