/* Locks: who holds one exclusively is alone, readers are together, nobody is overtaken for ever, waiters
 * sleep, a target that calls no MPI delays nobody where its memory maps; accumulates by all ranks at once.
 *
 * usage: rma_locks [asleep | dies]
 * asleep: waiters of 2 s use less than 1 % of a core.  dies: rank 1 is killed while it holds a lock; the
 * others find that and name it. */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* The library's calls come here. */
static int yields;
__attribute__((visibility("default"))) int sched_yield(void) {
  ++yields;
  return (int)syscall(SYS_sched_yield);
}

/* A counter that is read, changed and written in pieces: right only if holders are alone. */
static void test_exclusive(MPI_Win win, long* memory, int turns) {
  memory[0] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < turns; ++i) {
    const int target = i % check_size;
    long value;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Get(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(target, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win);
  long wanted = 0;
  for (int i = 0; i < turns; ++i) wanted += i % check_size == check_rank ? check_size : 0;
  CHECK(memory[0] == wanted, "%ld, not %ld", memory[0], wanted);
  MPI_Win_unlock(check_rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Writers change two words; readers never see them differ. */
static void test_shared(MPI_Win win, long* memory, int turns) {
  memory[1] = memory[2] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < turns; ++i) {
    long pair[2];
    if ((i + check_rank) % 4 == 0) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
      pair[0] = pair[1] = 1000 * check_rank + i;
      MPI_Put(&pair[0], 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
      MPI_Put(&pair[1], 1, MPI_LONG, 0, 2, 1, MPI_LONG, win);
    } else {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
      MPI_Get(&pair[1], 1, MPI_LONG, 0, 2, 1, MPI_LONG, win);
      MPI_Get(&pair[0], 1, MPI_LONG, 0, 1, 1, MPI_LONG, win);
      MPI_Win_flush(0, win);
      CHECK(pair[0] == pair[1], "%ld %ld", pair[0], pair[1]);
    }
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Locks of several targets at once, of all, and without looking. */
static void test_many(MPI_Win win, long* memory) {
  long one = 1, before;
  memory[3] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int rank = 0; rank < check_size; ++rank) MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  for (int rank = 0; rank < check_size; ++rank)
    MPI_Accumulate(&one, 1, MPI_LONG, rank, 3, 1, MPI_LONG, MPI_SUM, win);
  for (int rank = check_size; rank-- > 0;) MPI_Win_unlock(rank, win);
  MPI_Win_lock_all(0, win);
  for (int rank = 0; rank < check_size; ++rank)
    MPI_Fetch_and_op(&one, &before, MPI_LONG, rank, 3, MPI_SUM, win);
  MPI_Win_unlock_all(win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  for (int rank = 0; rank < check_size; ++rank)
    MPI_Fetch_and_op(&one, &before, MPI_LONG, rank, 3, MPI_SUM, win);
  MPI_Win_unlock_all(win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, win);
  MPI_Win_unlock(MPI_PROC_NULL, win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[3] == 3 * check_size, "%ld", memory[3]);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Elements that the processor changes alone, and such that need a lock. */
static void test_contention(MPI_Win win, long* memory, int turns) {
  double* const number = (double*)(void*)&memory[8];
  long one = 1;
  double half = 0.5;
  memory[4] = memory[5] = memory[6] = memory[7] = 0;
  for (int i = 0; i < 8; ++i) number[i] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < turns; ++i) {
    long before, old = -1, wanted = 0;
    double halves[8] = {half, half, half, half, half, half, half, half};
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 4, MPI_SUM, win);
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 5, 1, MPI_LONG, MPI_SUM, win);
    MPI_Accumulate(halves, 8, MPI_DOUBLE, 0, 8, 8, MPI_DOUBLE, MPI_SUM, win);
    for (;;) { /* a third counter by compare and swap */
      const long next = wanted + 1;
      MPI_Compare_and_swap(&next, &wanted, &old, MPI_LONG, 0, 6, win);
      MPI_Win_flush(0, win);
      if (old == wanted) break;
      wanted = old;
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) {
    for (int i = 4; i < 7; ++i) CHECK(memory[i] == (long)turns * check_size, "[%d] %ld", i, memory[i]);
    for (int i = 0; i < 8; ++i) CHECK(number[i] == 0.5 * turns * check_size, "[%d] %f", i, number[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Who waits for a lock sleeps; where ranks share CPUs all but two at once: the holder needs the CPUs.  Rank
 * 0, which holds it, calls no MPI meanwhile. */
static void test_waiting(MPI_Win win, struct timespec hold, double seconds_most) {
  int has_yielded = 0, have_yielded;
  if (check_rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = cpu_seconds();
  yields = 0;
  if (check_rank == 0) {
    nanosleep(&hold, NULL);
    MPI_Win_unlock(0, win);
  } else {
    MPI_Win_lock(check_rank % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
    const double used = cpu_seconds() - before;
    has_yielded = yields > 0;
    CHECK(used < seconds_most, "a waiter of %ld.%09ld s used %f s", (long)hold.tv_sec, hold.tv_nsec, used);
    MPI_Win_unlock(0, win);
  }
  MPI_Allreduce(&has_yielded, &have_yielded, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(check_size <= sysconf(_SC_NPROCESSORS_ONLN) || have_yielded <= 2, "%d gave their cores away",
        have_yielded);
}

/* Everybody takes two locks, those of lower ranks first: nobody waits in a circle. */
static void test_order(MPI_Win win, int turns) {
  if (check_size == 1) return;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < turns; ++i) {
    const int first = i % (check_size - 1);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first + 1, 0, win);
    MPI_Win_unlock(first, win);
    MPI_Win_unlock(first + 1, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The same with locks of two windows, of ranks that may be on two nodes. */
static void test_two_windows(MPI_Win win, int turns) {
  long* memory;
  MPI_Win second;
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &second);
  for (int i = 0; i < turns; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_size - 1, 0, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, second);
    MPI_Win_unlock(check_size - 1, win);
    MPI_Win_unlock(0, second);
  }
  MPI_Win_free(&second);
}

/* An epoch towards nobody is an epoch. */
static void test_nobody(MPI_Win win) {
  MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win);
  MPI_Win_flush(MPI_PROC_NULL, win);
  MPI_Win_flush_all(win);
  MPI_Win_flush_local_all(win);
  MPI_Win_unlock(MPI_PROC_NULL, win);
}

/* Who takes all locks takes those of lower ranks first, too: the last rank must not have its own before that
 * of rank 0, whose holder waits for it. */
static void test_all_beside_two(MPI_Win win) {
  const struct timespec pause = {0, 50000000};
  const int last = check_size - 1;
  if (last == 0) return;
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Send(NULL, 0, MPI_BYTE, last, 0, MPI_COMM_WORLD);
    nanosleep(&pause, NULL);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
    MPI_Win_unlock(last, win);
    MPI_Win_unlock(0, win);
  } else if (check_rank == last) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock_all(0, win);
    MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void die_as_holder(MPI_Win win) {
  MPI_Win_set_name(win, "treasure");
  if (check_rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 1) raise(SIGKILL);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Win_unlock(0, win);
}

int main(int argc, char** argv) {
  const struct timespec short_time = {0, 400000000}, long_time = {2, 0};
  const char* const what = argc > 1 ? argv[1] : "";
  long* memory;
  MPI_Win win;
  check_start(&argc, &argv);
  MPI_Win_allocate(64 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  if (!strcmp(what, "dies")) die_as_holder(win);
  if (!strcmp(what, "asleep")) {
    test_waiting(win, long_time, 0.02);
    MPI_Win_free(&win);
    return check_end();
  }
  test_exclusive(win, memory, 200);
  test_shared(win, memory, 200);
  test_many(win, memory);
  test_contention(win, memory, 200);
  test_order(win, 200);
  test_two_windows(win, 200);
  test_nobody(win);
  test_all_beside_two(win);
  test_waiting(win, short_time, 0.1);
  MPI_Win_free(&win);
  return check_end();
}
