// Messages within hosts and between them: who shares memory, all to all, wildcards over both, sums, windows.
// Each rank prints one line when it is content.  First argument: "abort" ends the job after that.
// "stream SECONDS" only sends long messages from the first rank to the last for so long, "quiet SECONDS"
// none; both say when they begin.  "starts" has each rank start another MPI program, which is "alone".
// "behind" begins a session behind MPI_Finalize, which is refused.  "between" has the last rank exit with
// code 3 between two sessions; "late" ends the session in what runs at exit; "fail STATUS" has the first rank
// exit so behind its session, when the others are in their exits.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int rank, size;

static void must(int is_so, const char* what) {
  if (is_so) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 70);
}

/// A network costs a process some memory, but does not take it for peers that it has not talked to.  Measured
/// for TCP; other providers lock what they need.
static void check_memory(void) {
  const char* const provider = getenv("DUNLIN_OFI_PROVIDER");
  if (provider && strcmp(provider, "tcp") != 0) return;
  enum { MOST_KB = 75 << 10 };
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  if (used.ru_maxrss > MOST_KB) fprintf(stderr, "rank %d: MPI_Init took %ld KiB\n", rank, used.ru_maxrss);
  must(used.ru_maxrss <= MOST_KB, "too much memory");
}

/// The ranks that may share memory are those of the same host, and no others; none do where the network
/// matches.
static int check_host(void) {
  const char* const engine = getenv("DUNLIN_P2P");
  const int is_alone = engine && strcmp(engine, "offload") == 0;
  char mine[MPI_MAX_PROCESSOR_NAME] = "";
  int bytes, here, expected = 0;
  MPI_Comm node;
  MPI_Get_processor_name(mine, &bytes);
  char* const all = malloc((size_t)size * sizeof mine);
  MPI_Allgather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i)
    expected += is_alone ? i == rank : strcmp(all + (size_t)i * sizeof mine, mine) == 0;
  free(all);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &here);
  must(here == expected, "MPI_COMM_TYPE_SHARED has not found the ranks of this host");
  MPI_Comm_free(&node);
  return here;
}

/// Rank 0 hears from everybody by wildcard; the messages of each come in order.  The tag is the length.
static void check_messages(int ints) {
  enum { ROUNDS = 5 };
  int* const data = malloc((size_t)ints * sizeof *data);
  int* const heard = calloc((size_t)size, sizeof *heard);
  for (int round = 0; rank != 0 && round < ROUNDS; ++round) {
    for (int i = 0; i < ints; ++i) data[i] = rank * 1000 + round * 100 + i % 97;
    MPI_Send(data, ints, MPI_INT, 0, ints, MPI_COMM_WORLD);
  }
  for (int i = 0; rank == 0 && i < (size - 1) * ROUNDS; ++i) {
    MPI_Status status;
    MPI_Recv(data, ints, MPI_INT, MPI_ANY_SOURCE, ints, MPI_COMM_WORLD, &status);
    const int from = status.MPI_SOURCE;
    for (int k = 0; k < ints; ++k)
      must(data[k] == from * 1000 + heard[from] * 100 + k % 97,
           "a message is out of order, or not what was sent");
    ++heard[from];
  }
  free(heard);
  free(data);
}

static void check_sums(void) {
  for (int i = 0; i < 20; ++i) {
    int sum = 0;
    const int mine = rank + i;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    must(sum == size * (size - 1) / 2 + size * i, "a sum is wrong");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Everybody counts at everybody, under the lock of each, in memory of MPI_Win_allocate and of malloc.
static void check_windows(void) {
  enum { ROUNDS = 20 };
  for (int is_own = 0; is_own < 2; ++is_own) {
    long *memory, seen;
    MPI_Win win;
    const MPI_Aint bytes = 2 * sizeof *memory;
    if (is_own) {
      memory = malloc((size_t)bytes);
      MPI_Win_create(memory, bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else {
      MPI_Win_allocate(bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    }
    memory[0] = memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS * size; ++i) {
      const long one = 1;
      const int target = (rank + i) % size;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
      MPI_Get(&seen, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
      MPI_Win_flush(target, win);
      ++seen;
      MPI_Put(&seen, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
      MPI_Accumulate(&one, 1, MPI_LONG, target, 1, 1, MPI_LONG, MPI_SUM, win);
      MPI_Win_unlock(target, win);
    }
    MPI_Win_fence(0, win);
    must(memory[0] == ROUNDS * size, "two ranks held a window's lock at once");
    must(memory[1] == ROUNDS * size, "an accumulate was lost");
    MPI_Win_free(&win);
    if (is_own) free(memory);
  }
}

static void begin_to_send(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return;
  printf("sending\n");
  fflush(stdout);
}

/// Every message is what was sent; its first number tells whether it is the last.
static void stream(double seconds) {
  enum { INTS = 1 << 18 };
  int* const data = calloc(INTS, sizeof *data);
  begin_to_send();
  const double end = MPI_Wtime() + seconds;
  for (int i = 1; data[0] >= 0; ++i) {
    if (rank == 0) {
      data[0] = MPI_Wtime() < end ? i : -1;
      data[INTS - 1] = i;
      MPI_Send(data, INTS, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
    } else if (rank == size - 1) {
      MPI_Recv(data, INTS, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      must((data[0] == i || data[0] == -1) && data[INTS - 1] == i, "a message was lost, or came twice");
    } else {
      break;
    }
  }
  free(data);
}

static int start_another(const char* program) {
  char command[4200];
  (void)snprintf(command, sizeof command, "%s alone", program);
  return system(command);  // NOLINT: this program
}

static int begin_behind(void) {
  char sentence[MPI_MAX_ERROR_STRING] = "";
  MPI_Session session;
  int length;
  MPI_Init(NULL, NULL);
  MPI_Finalize();
  MPI_Error_string(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), sentence, &length);
  return puts(sentence) < 0;
}

static MPI_Session session;

static void add_in_session(void) {
  MPI_Group all;
  MPI_Comm comm;
  int sum;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Comm_create_from_group(all, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum != size * (size - 1) / 2) abort();
  MPI_Group_free(&all);
  MPI_Comm_free(&comm);
}

static void end_session(void) { MPI_Session_finalize(&session); }

static int end_between(void) {
  for (int i = 0; i < 2; ++i) {
    add_in_session();
    end_session();
    if (i == 0 && rank == size - 1) return 3;
  }
  return 0;
}

static int fail_behind(int status) {
  add_in_session();
  end_session();
  if (rank != 0) return 0;
  sleep(1);
  exit(status);
}

static int end_late(void) {
  if (atexit(end_session) != 0) return 1;  // before MPI has anything to do there
  add_in_session();
  return puts("late") < 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "behind") == 0) return begin_behind();
  if (argc > 1 && strcmp(argv[1], "between") == 0) return end_between();
  if (argc > 1 && strcmp(argv[1], "late") == 0) return end_late();
  if (argc > 2 && strcmp(argv[1], "fail") == 0) return fail_behind(atoi(argv[2]));
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 2) {
    const int is_quiet = strcmp(argv[1], "quiet") == 0;
    if (!is_quiet) stream(atof(argv[2]));
    if (is_quiet) begin_to_send();
    if (is_quiet && rank == size - 1 && sleep((unsigned)atoi(argv[2])) != 0)
      sleep(2);  // a signal came: others that got it, too, have time to say that they wait for this rank
    MPI_Barrier(MPI_COMM_WORLD);
    printf("fine: rank %d\n", rank);
    MPI_Finalize();
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "alone") == 0) {
    must(size == 1, "a program that a rank has started is of its job");
    MPI_Finalize();
    return puts("alone") < 0;
  }
  const int starts = argc > 1 && strcmp(argv[1], "starts") == 0;
  must(!starts || start_another(argv[0]) == 0, "the program that a rank has started failed");
  check_memory();
  const int here = check_host();
  check_messages(1);
  check_messages(20000);
  check_sums();
  check_windows();
  printf("fine: rank %d of %d, %d here\n", rank, size, here);
  fflush(stdout);
  if (argc > 1 && strcmp(argv[1], "abort") == 0 && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 21);
  MPI_Finalize();
  return 0;
}
