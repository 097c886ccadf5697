/* A target forks while all others change its memory: no addition is lost or done twice, whatever the window's
 * memory is, and whether the child lives on or ends at once; what it stores behind a fork others see. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kForks = 6 };

static void sleep_ms(long ms) {
  const struct timespec time = {0, ms * 1000000};
  nanosleep(&time, NULL);
}

extern pid_t _Fork(void);

/* Ends without flushing what stdio holds of the parent. */
static pid_t fork_child(pid_t (*make)(void), int lives) {
  const pid_t child = make();
  if (child != 0) return child;
  if (lives) sleep_ms(100);
  _exit(0);
}

/* Until rank 0 says that it has forked for the last time; answers how often. */
static long add(MPI_Win win, MPI_Request* last) {
  const long one = 1;
  const double half = 0.5;
  long before, turns = 0;
  int done = 0;
  MPI_Win_lock_all(0, win);
  for (; !done; ++turns) {
    long back = -1;
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, win);
    MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE, MPI_SUM, win);
    MPI_Put(&turns, 1, MPI_LONG, 0, 8 + check_rank, 1, MPI_LONG, win);
    MPI_Win_flush(0, win);
    MPI_Get(&back, 1, MPI_LONG, 0, 8 + check_rank, 1, MPI_LONG, win);
    MPI_Win_flush(0, win);
    CHECK(back == turns, "turn %ld: %ld", turns, back);
    if (turns % 64 == 0) MPI_Test(last, &done, MPI_STATUS_IGNORE);
  }
  MPI_Win_unlock_all(win);
  return turns;
}

static void run(MPI_Win win, long* memory, pid_t (*make)(void), const char* what) {
  MPI_Request last;
  long turns = 0, all_turns = 0;
  int word = 1;
  if (check_rank == 0) memset(memory, 0, 64 * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  pid_t children[kForks];
  for (int i = 0; check_rank == 0 && i < kForks; ++i) {
    int flag;
    for (int turn = 0; turn < 20; ++turn) MPI_Iprobe(0, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    sleep_ms(2);
    children[i] = fork_child(make, i % 2);
    CHECK(children[i] > 0, "fork");
  }
  MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &last);
  if (check_rank > 0)
    turns = add(win, &last);
  else
    MPI_Wait(&last, MPI_STATUS_IGNORE);
  MPI_Reduce(&turns, &all_turns, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (check_rank > 0) return;
  for (int i = 0; i < kForks; ++i) waitpid(children[i], NULL, 0);
  double sum;
  memcpy(&sum, &memory[1], sizeof sum);
  CHECK(memory[0] == all_turns, "%s: %ld of %ld", what, memory[0], all_turns);
  CHECK(sum == 0.5 * (double)all_turns, "%s: %f of %ld halves", what, sum, all_turns);
}

/* A long addition is under way when rank 0 forks, and it writes its pages right behind that, the last ones
   first. */
static void add_much(pid_t (*make)(void), const char* what) {
  enum { kCount = 1 << 21, kPage = 512 };
  static double ones[kCount];
  const double zero = 0;
  double* const sums = calloc(kCount, sizeof *sums);
  MPI_Win win;
  MPI_Request last;
  long turns = 0, all_turns = 0;
  int word = 1;
  pid_t child = -1;
  for (int i = 0; i < kCount; ++i) ones[i] = 1, sums[i] = 0;
  MPI_Win_create(sums, sizeof ones, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) {
    sleep_ms(5);
    CHECK((child = fork_child(make, 1)) > 0, "fork");
    for (MPI_Aint at = kCount - 1; at >= 0; at -= kPage)
      MPI_Accumulate(&zero, 1, MPI_DOUBLE, 0, at, 1, MPI_DOUBLE, MPI_SUM, win);
  }
  MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &last);
  for (int done = check_rank == 0; !done; ++turns) {
    MPI_Accumulate(ones, kCount, MPI_DOUBLE, 0, 0, kCount, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Test(&last, &done, MPI_STATUS_IGNORE);
  }
  MPI_Wait(&last, MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(win);
  MPI_Reduce(&turns, &all_turns, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Win_free(&win);
  int wrong = 0;
  for (int i = 0; check_rank == 0 && i < kCount; ++i) wrong += sums[i] != (double)all_turns;
  CHECK(wrong == 0, "%s: %d sums are not %ld", what, wrong, all_turns);
  if (check_rank == 0) waitpid(child, NULL, 0);
  free(sums);
}

/* What rank 0 stores between its forks, others get, and what they put it sees.  `_Fork` runs no handlers. */
static void look(MPI_Win win, long* memory, pid_t (*make)(void), const char* what) {
  pid_t children[kForks];
  MPI_Win_lock_all(0, win);
  for (long i = 0; i < kForks; ++i) {
    if (check_rank == 0) {
      memory[2] = i + 1;
      MPI_Win_sync(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int turn = 0; check_rank > 0 && turn < 3; ++turn) {
      long got = -1;
      MPI_Get(&got, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win);
      MPI_Win_flush(0, win);
      CHECK(got == i + 1, "%s: %ld behind %ld forks", what, got, i);
    }
    if (check_rank > 0) {
      MPI_Put(&i, 1, MPI_LONG, 0, 8 + check_rank, 1, MPI_LONG, win);
      MPI_Win_flush(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (int rank = 1; check_rank == 0 && rank < check_size; ++rank)
      CHECK(memory[8 + rank] == i, "%s: %ld, put behind %ld forks", what, memory[8 + rank], i);
    if (check_rank == 0) CHECK((children[i] = fork_child(make, 1)) > 0, "fork");
  }
  MPI_Win_unlock_all(win);
  for (int i = 0; check_rank == 0 && i < kForks; ++i) waitpid(children[i], NULL, 0);
}

/* A child never sees what others put behind the fork, by whatever way they had reached that memory before. */
static void keep_apart(MPI_Win win, long* memory, pid_t (*make)(void), const char* what) {
  enum { kWords = 4, kAt = 600 }; /* a page that nothing else here writes */
  int ends[2], status = 0;
  pid_t child = -1;
  char go = 0;
  for (long i = 0; i < kWords; ++i) memory[kAt + i] = i;
  MPI_Win_lock_all(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < 2; ++turn) {
    for (long i = 0; check_rank == check_size - 1 && i < kWords; ++i) {
      const long word = turn ? 100 + i : i;
      MPI_Put(&word, 1, MPI_LONG, 0, kAt + i, 1, MPI_LONG, win);
      MPI_Win_flush(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (turn == 0 && check_rank == 0) {
      CHECK(pipe(ends) == 0, "pipe");
      child = make();
      if (child == 0) {
        int differs = read(ends[0], &go, 1) != 1;
        for (long i = 0; i < kWords; ++i) differs |= memory[kAt + i] != i;
        _exit(differs ? 8 : 7);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(win);
  if (check_rank > 0) return;
  for (long i = 0; i < kWords; ++i) CHECK(memory[kAt + i] == 100 + i, "%s: %ld", what, memory[kAt + i]);
  CHECK(child > 0 && write(ends[1], &go, 1) == 1 && waitpid(child, &status, 0) == child, "%s", what);
  CHECK(WEXITSTATUS(status) == 7, "%s: the child sees what was put behind the fork, or is gone: status %x",
        what, (unsigned)status);
  close(ends[0]);
  close(ends[1]);
}

/* The threads of this process. */
static int threads(void) {
  int count = -2; /* "." and ".." */
  DIR* const folder = opendir("/proc/self/task");
  while (folder && readdir(folder)) ++count;
  if (folder) closedir(folder);
  return count;
}

/* A child that forks again, and its child, do nothing in the name of the rank. */
static void fork_twice(pid_t (*make)(void), const char* what) {
  int status = -1;
  const pid_t child = check_rank == 0 ? make() : 1;
  if (child == 0) {
    int inner = -1;
    const pid_t grandchild = make();
    if (grandchild == 0) _exit(threads() == 1 ? 0 : 1);
    _exit(waitpid(grandchild, &inner, 0) == grandchild && inner == 0 && threads() == 1 ? 0 : 1);
  }
  if (check_rank == 0)
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%s: %x", what, (unsigned)status);
}

static volatile sig_atomic_t signals;
static void fork_in_handler(int signal) {
  (void)signal;
  if (signals == kForks) return;
  const int saved_errno = errno;
  const pid_t child = fork_child(signals % 2 ? fork : _Fork, signals == 1);
  if (child > 0) waitpid(child, NULL, 0);
  errno = saved_errno;
  ++signals;
}

/* A signal handler forks in the middle of a put to another rank, for whose end it does not wait. */
static void interrupt(MPI_Win win, const long* memory, int count) {
  const struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
  const double begin = MPI_Wtime();
  MPI_Win_lock_all(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  signal(SIGALRM, fork_in_handler);
  if (check_rank == 1) {
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals < kForks) {
      MPI_Put(memory, count, MPI_LONG, 0, 0, count, MPI_LONG, win);
      MPI_Win_flush(0, win);
    }
    setitimer(ITIMER_REAL, &never, NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  /* Another forks while it waits for messages, and then does what is to be done to its frozen memory. */
  signals = 0;
  if (check_rank == 0) setitimer(ITIMER_REAL, &often, NULL);
  for (int turn = 0; turn < 2; ++turn) {
    if (check_rank == 0) {
      for (int rank = 1; rank < check_size; ++rank)
        MPI_Recv(NULL, 0, MPI_LONG, rank, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      const double until = MPI_Wtime() + 0.2;
      do {
        MPI_Accumulate(memory, 1, MPI_LONG, 0, check_rank, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_flush(0, win);
      } while (MPI_Wtime() < until);
      MPI_Send(NULL, 0, MPI_LONG, 0, turn, MPI_COMM_WORLD);
    }
  }
  setitimer(ITIMER_REAL, &never, NULL);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Wtime() - begin < 8, "%d forks in signal handlers took %.1f s", kForks, MPI_Wtime() - begin);
}

/* A child does not have the memory of MPI_Win_allocate and MPI_Win_allocate_shared. */
static void test_absent(void* memory) {
  void* const page = (char*)memory - (uintptr_t)memory % (uintptr_t)sysconf(_SC_PAGESIZE);
  unsigned char is_there;
  int status;
  CHECK(mincore(page, 1, &is_there) == 0, "in the parent");
  const pid_t child = fork();
  if (child == 0) _exit(mincore(page, 1, &is_there) == -1 && errno == ENOMEM ? 7 : 8);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "status %x",
        (unsigned)status);
}

int main(int argc, char** argv) {
  enum { kBytes = 1 << 20 };
  MPI_Win win;
  long* memory;
  static long in_static[kBytes / sizeof(long)];
  check_start(&argc, &argv);
  memory = calloc(1, kBytes);  /* first: forks of other kinds may make the helper thread */
  MPI_Win_create(memory, kBytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  interrupt(win, memory, 8192);
  MPI_Win_free(&win);
  free(memory);
  for (int round = 0; round < 2; ++round) {
    memory = malloc(kBytes);
    MPI_Win_create(memory, kBytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    fork_twice(round ? fork : _Fork, "malloc, twice");
    keep_apart(win, memory, round ? fork : _Fork, "malloc");
    look(win, memory, round ? fork : _Fork, "malloc");
    run(win, memory, round ? fork : _Fork, "malloc");
    MPI_Win_free(&win);
    free(memory);
    add_much(round ? fork : _Fork, round ? "fork" : "_Fork");
  }
  MPI_Win_create(in_static, sizeof in_static, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  keep_apart(win, in_static, fork, "static");
  look(win, in_static, fork, "static");
  run(win, in_static, fork, "static");
  MPI_Win_free(&win);
  memory = malloc(kBytes);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, memory, kBytes);
  fork_twice(fork, "dynamic, twice");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
  free(memory);
  MPI_Win_allocate(kBytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  run(win, memory, fork, "allocate");
  test_absent(memory);
  MPI_Win_free(&win);
  if (check_is_one_node()) {
    MPI_Win_allocate_shared(kBytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    run(win, memory, fork, "allocate_shared");
    test_absent(memory);
    MPI_Win_free(&win);
  }
  return check_end();
}
