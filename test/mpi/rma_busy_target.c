/* A target that computes and calls no MPI delays nobody: the last rank looks at its own memory until an
 * origin has written there, behind all sorts of operations that it has flushed, and behind messages that
 * fill the rings.  Every flavour; memory that maps and memory that does not.  Where the target is needed, its
 * helper thread does it (DUNLIN_HELPER), also while it is in other calls. ranks: 2 variants: none */
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kLongs = 1 << 17, kTurns = 20 }; /* a block of the shared heap */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Messages that nobody has asked for yet fill the way to the target. */
enum { kMessages = 100, kMessageBytes = 1000 };
static char texts[kMessages][kMessageBytes];
static MPI_Request floods[kMessages];

static void flood(void) {
  for (int i = 0; i < kMessages; ++i)
    MPI_Isend(texts[i], kMessageBytes, MPI_CHAR, check_size - 1, i, MPI_COMM_WORLD, &floods[i]);
}

static void drain(void) {
  for (int origin = 0; origin < check_size - 1; ++origin)
    for (int i = 0; i < kMessages; ++i)
      MPI_Recv(texts[i], kMessageBytes, MPI_CHAR, origin, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* memory[0] is the flag, the others belong to one origin each. */
static void operate(MPI_Win win, MPI_Aint at, MPI_Aint unit) {
  const int target = check_size - 1;
  const MPI_Aint mine = at + unit * (1 + 4 * check_rank);
  const long one = 1, zero = 0;
  long got = -1;
  double half = 0.5;
  for (long i = 0; i < kTurns; ++i) {
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Put(&i, 1, MPI_LONG, target, mine, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
    MPI_Get(&got, 1, MPI_LONG, target, mine, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
    CHECK(got == i, "%ld, not %ld", got, i);
    MPI_Fetch_and_op(&one, &got, MPI_LONG, target, mine + unit, MPI_SUM, win);
    MPI_Accumulate(&half, 1, MPI_DOUBLE, target, mine + 2 * unit, 1, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_flush(target, win);
    CHECK(got == i, "counter %ld, not %ld", got, i);
    MPI_Compare_and_swap(&one, &zero, &got, MPI_LONG, target, mine + 3 * unit, win);
    MPI_Win_unlock(target, win);
    CHECK(got == (i > 0), "swap %ld", got);
  }
  MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
  MPI_Accumulate(&one, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_unlock(target, win);
}

/* Such a call polls for nobody, and has the library's lock nearly all the time. */
static void pack(void) {
  static double from[1 << 17], to[1 << 17];
  int position = 0;
  MPI_Pack(from, 1 << 17, MPI_DOUBLE, to, sizeof to, &position, MPI_COMM_WORLD);
}

static int does_pack;
static void compute(const volatile long* flag, const char* what) {
  const double end = now() + 20;
  while (*flag < check_size - 1 && now() < end)
    if (does_pack) pack();
  CHECK(*flag == check_size - 1, "%s: %ld of %d origins came through while the target computed", what, *flag,
        check_size - 1);
}

static void test_window(MPI_Win win, long* memory, int is_dynamic, const char* what) {
  MPI_Aint at = 0;
  memset(memory, 0, sizeof *memory * (size_t)(1 + 4 * check_size));
  if (is_dynamic) MPI_Get_address(memory, &at);
  MPI_Bcast(&at, 1, MPI_AINT, check_size - 1, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == check_size - 1) {
    compute(memory, what);
    drain();
  } else {
    flood();
    operate(win, at, is_dynamic ? (MPI_Aint)sizeof(long) : 1);
    MPI_Waitall(kMessages, floods, MPI_STATUSES_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int origin = 0; origin < check_size - 1 && check_rank == check_size - 1; ++origin) {
    double halves;
    memcpy(&halves, &memory[1 + 4 * origin + 2], sizeof halves);
    CHECK(memory[1 + 4 * origin + 1] == kTurns && halves == 0.5 * kTurns, "%s: %ld, %f", what,
          memory[1 + 4 * origin + 1], halves);
  }
}

static void test_create(long* memory, const char* what) {
  MPI_Win win;
  MPI_Win_create(memory, (MPI_Aint)sizeof(long) * (1 + 4 * check_size), sizeof(long), MPI_INFO_NULL,
                 MPI_COMM_WORLD, &win);
  test_window(win, memory, 0, what);
  MPI_Win_free(&win);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, memory, (MPI_Aint)sizeof(long) * (1 + 4 * check_size));
  test_window(win, memory, 1, what);
  MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
}

/* A child that lives on freezes the target's memory: what was mapped needs the target from then on. */
static void test_frozen(long* memory, int is_dynamic) {
  MPI_Win win;
  int ends[2];
  pid_t child = 0;
  if (is_dynamic) {
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, sizeof(long) * kLongs);
  } else {
    MPI_Win_create(memory, sizeof(long) * kLongs, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  }
  if (check_rank == check_size - 1) {
    char byte;
    CHECK(pipe(ends) == 0 && (child = fork()) >= 0, "fork");
    if (child == 0) _exit(close(ends[1]) != 0 || read(ends[0], &byte, 1) != 0);
  }
  test_window(win, memory, is_dynamic, "frozen memory");
  if (check_rank == check_size - 1) {
    int status;
    close(ends[0]);
    close(ends[1]);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child");
  }
  if (is_dynamic) MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  static long fixed[1 + 4 * 64];
  long stack[1 + 4 * 64];
  long* memory;
  MPI_Win win;
  check_start(&argc, &argv);
  const MPI_Aint bytes = (MPI_Aint)sizeof(long) * (1 + 4 * check_size);
  MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  test_window(win, memory, 0, "allocate");
  MPI_Win_free(&win);
  if (check_is_one_node()) {
    MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    test_window(win, memory, 0, "allocate_shared");
    MPI_Win_free(&win);
  }
  for (int is_dynamic = 0; is_dynamic < 2; ++is_dynamic) { /* first: the helper is not there yet */
    memory = malloc(sizeof(long) * kLongs);
    test_frozen(memory, is_dynamic);
    free(memory);
  }
  memory = malloc(sizeof(long) * kLongs);
  test_create(memory, "a large block");
  free(memory);
  test_create(fixed, "static memory");
  memory = malloc((size_t)bytes);
  test_create(memory, "a small block");
  free(memory);
  test_create(stack, "the stack");
  does_pack = 1;
  test_create(stack, "the stack, packing");
  return check_end();
}
