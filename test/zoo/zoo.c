// Programs that hang, and programs that only look so, by name: `mpirun -n RANKS zoo NAME`.  zoo_test.py knows
// how many ranks each wants and what mpirun has to say.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONG_BYTES (4 << 20)

static int rank, size;
static int value;
static char *buffer;

/// Longer than mpirun needs to be sure of a deadlock.
static void take_long(void) {
  struct timespec left = {4, 0};
  while (nanosleep(&left, &left) != 0) {
  }
}
static void receive(int from, int tag) {
  MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void send(int to, int tag) { MPI_Send(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD); }
static int next(void) { return (rank + 1) % size; }
static int previous(void) { return (rank + size - 1) % size; }

// ---- deadlocks

static void receive_cycle(void) { receive(previous(), 7); }

static void send_cycle(void) {
  MPI_Send(buffer, LONG_BYTES, MPI_BYTE, next(), 0, MPI_COMM_WORLD);
  MPI_Recv(buffer, LONG_BYTES, MPI_BYTE, previous(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void synchronous_to_self(void) { MPI_Ssend(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD); }

static void wildcard(void) { receive(MPI_ANY_SOURCE, MPI_ANY_TAG); }

static void wildcard_taken(void) {  // the wildcard takes what the second receive was meant for
  if (rank == 0) {
    receive(MPI_ANY_SOURCE, 1);
    receive(1, 1);
  } else {
    send(0, 1);
    receive(0, 1);
  }
}

static void wrong_tag(void) {
  if (rank == 0) send(1, 3);
  receive(1 - rank, rank == 0 ? 5 : 4);
}

static void wrong_communicator(void) {
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_set_name(other, "other");
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, other);
  receive(1 - rank, 0);
}

static void collective_order(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(&value, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
  if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);
}

static void missing_partner(void) { rank == size - 1 ? receive(0, 0) : (void)MPI_Barrier(MPI_COMM_WORLD); }

static void lost_root(void) {  // everybody takes the next one for the root
  MPI_Bcast(&value, 1, MPI_INT, next(), MPI_COMM_WORLD);
}

static void one_in_finalize(void) {
  if (rank == 0) receive(1, 0);
}

static void wait_all(void) {
  MPI_Request requests[2];
  MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 8, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(buffer, LONG_BYTES, MPI_BYTE, 1 - rank, 9, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void wait_any(void) {
  int values[2], index;
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) MPI_Irecv(&values[i], 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

static void probe(void) { MPI_Probe(1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

static void nonblocking_collective(void) {
  MPI_Request request;
  rank == 0 ? MPI_Ibarrier(MPI_COMM_WORLD, &request)
            : MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void two_communicators(void) {  // each orders them in its own way
  MPI_Comm comms[2];
  for (int i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  MPI_Comm_set_name(comms[0], "red");
  MPI_Comm_set_name(comms[1], "blue");
  MPI_Barrier(comms[rank == 0]);
  MPI_Barrier(comms[rank != 0]);
}

static void duplicate_or_not(void) {
  MPI_Comm other;
  if (rank == 0)
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
  else
    MPI_Barrier(MPI_COMM_WORLD);
}

static void *receive_in_thread(void *tag) {
  receive(1 - rank, *(int *)tag);
  return NULL;
}
static void threads(void) {
  int tags[2] = {1, 2};
  pthread_t thread[2];
  for (int i = 0; i < 2; ++i) pthread_create(&thread[i], NULL, receive_in_thread, &tags[i]);
  for (int i = 0; i < 2; ++i) pthread_join(thread[i], NULL);
}

static MPI_Win make_window(void) {
  static int memory;
  MPI_Win win;
  MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  return win;
}

static void lock_held(void) {
  MPI_Win win = make_window();
  if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
  receive(1 - rank, 0);
}

static void nobody_posts(void) {
  MPI_Group all;
  MPI_Win win = make_window();
  const int other = 1 - rank;
  MPI_Group partner;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &other, &partner);
  MPI_Win_set_name(win, "halo");
  MPI_Win_start(partner, 0, win);
}

static void many_collectives(void) {  // more than may be under way at a time
  enum { kMany = 100 };
  MPI_Request requests[kMany];
  if (rank != 0) receive(0, 0);
  for (int i = 0; i < kMany; ++i) MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
  MPI_Wait(&requests[kMany - 1], MPI_STATUS_IGNORE);
}

static void persistent_collectives(void) {  // each waits for another one
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  MPI_Start(&requests[rank]);
  MPI_Wait(&requests[rank], MPI_STATUS_IGNORE);
}

static void behind_a_library(void) {
  void *const library = dlopen("./libzoo_wrapper.so", RTLD_NOW);
  void (*const wrapped)(int, int) = library ? (void (*)(int, int))dlsym(library, "wrapped_receive") : NULL;
  if (wrapped) wrapped(1 - rank, 3);
}

// ---- loops that test what never comes

static void test_in_vain(void) {
  int flag = 0;
  MPI_Request request;
  MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
  while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void probe_in_vain(void) {
  for (int flag = 0; !flag;) {
    usleep(10000);
    MPI_Iprobe(1 - rank, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
}

// ---- collectives that the ranks do not call alike

static void other_count(void) {
  int in[2] = {1, 2}, out[2];
  MPI_Allreduce(in, out, rank == 0 ? 2 : 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void other_operator(void) {
  int out;
  MPI_Allreduce(&value, &out, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD);
}

static void other_type(void) {
  long data = 0;
  MPI_Bcast(&data, 1, rank == 0 ? MPI_DOUBLE : MPI_LONG, 0, MPI_COMM_WORLD);
}

static void other_root(void) {
  int out;
  MPI_Request request;
  MPI_Ireduce(&value, &out, 1, MPI_INT, MPI_SUM, rank == 0 ? 0 : 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void other_root_in_session(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "zoo", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Bcast(&value, 1, MPI_INT, rank, comm);
}

static void other_call(void) {
  int out;
  MPI_Request request;
  if (rank == 0)
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
  else
    MPI_Iallreduce(&value, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void gather(int mine, int of_each) {
  MPI_Gather(buffer, mine, MPI_INT, buffer + 64, of_each, MPI_INT, 0, MPI_COMM_WORLD);
}
static void all_counted_at_once(void) { gather(1, size); }  // recvcount is of one rank, not of all
static void sent_too_little(void) { gather(rank == 0 ? 2 : 1, 2); }

static void too_long(void) {
  int many[4] = {0};
  if (rank == 0)
    MPI_Send(many, 4, MPI_INT, 1, 6, MPI_COMM_WORLD);
  else
    receive(0, 6);
}

static void alike(void) {  // in other words
  MPI_Datatype pair;
  int in[4] = {0}, out[8];
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (int i = 0; i < 40; ++i) {
    MPI_Bcast(in, rank == 0 ? 4 : 2, rank == 0 ? MPI_INT : pair, 0, MPI_COMM_WORLD);
    MPI_Allgather(in, 4, MPI_INT, out, 4, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce(rank == 1 ? MPI_IN_PLACE : in, rank == 1 ? in : NULL, 4, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
  }
  MPI_Type_free(&pair);
}

static void other_file_call(void) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "zoo.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (rank == 0)
    MPI_File_set_size(file, 100);
  else
    MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_set_size(file, 50);
  MPI_File_close(&file);
}

static void not_a_handle(void) {
  MPI_Send(&value, 1, (MPI_Datatype)(size_t)0x7123456, 0, 0, MPI_COMM_WORLD);
}

static void not_a_buffer(void) {
  MPI_Sendrecv((void *)(size_t)0x7123456, 1, MPI_INT, 0, 0, &value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

// ---- not deadlocks: everybody waits for rank 0, which is busy with something else

static void answer_all(void) {
  for (int i = 1; i < size; ++i) send(i, 1);
}
static void wait_for_rank_0(void) {
  if (rank != 0) receive(0, 1);
}

static void sleeps(void) {
  if (rank == 0) take_long(), answer_all();
  wait_for_rank_0();
}

static void computes(void) {
  if (rank == 0) {
    for (double end = MPI_Wtime() + 4; MPI_Wtime() < end;) ++value;
    answer_all();
  }
  wait_for_rank_0();
}

static void test_loop(void) {
  if (rank == 0) {
    int flag = 0;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
    for (double end = MPI_Wtime() + 4; MPI_Wtime() < end;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    answer_all();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  wait_for_rank_0();
  if (rank == 1) send(0, 2);
}

static void probe_loop(void) {
  if (rank == 0) {
    int flag = 0;
    for (double end = MPI_Wtime() + 4; MPI_Wtime() < end;)
      MPI_Iprobe(1, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    answer_all();
  }
  wait_for_rank_0();
}

/// Runs `MPI` of rank 0 while a child lets four seconds pass and then does `last`.
static void after_a_while(pid_t whom, int signal) {
  if (fork() != 0) return;
  take_long();
  kill(whom, signal);
  _exit(0);
}

static void stopped(void) {
  if (rank == 0) {
    after_a_while(getpid(), SIGCONT);
    raise(SIGSTOP);
    answer_all();
  }
  wait_for_rank_0();
}

static void stopped_while_waiting(void) {  // its message has come meanwhile, and it has not looked
  if (rank == 0) {
    const pid_t self = getpid();
    if (fork() == 0) {
      usleep(200000);
      kill(self, SIGSTOP);
      take_long();
      kill(self, SIGCONT);
      _exit(0);
    }
    receive(1, 2);
    answer_all();
  } else if (rank == 1) {
    usleep(600000);
    send(0, 2);
  }
  wait_for_rank_0();
}

static void lock_kept_long(void) {  // by a rank that waits for a third one
  MPI_Win win = make_window();
  if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) take_long(), send(0, 1);
  if (rank == 0) receive(2, 1);
  if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  if (rank != 2) MPI_Win_unlock(0, win);
  MPI_Win_free(&win);
}

static void slow_stream(void) {
  for (int i = 0; rank == 0 && i < 6; ++i) {
    usleep(700000);
    answer_all();
  }
  for (int i = 0; i < 6; ++i) wait_for_rank_0();
}

static void slow_operator(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)in, (void)inout, (void)count, (void)type;
  take_long();
}
static void callback_sleeps(void) {
  int result;
  MPI_Op op;
  MPI_Op_create(slow_operator, 1, &op);
  MPI_Reduce(&value, &result, 1, MPI_INT, op, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void child_process(void) {
  if (rank == 0) {
    const pid_t child = fork();
    if (child == 0) take_long(), _exit(0);
    waitpid(child, NULL, 0);
    answer_all();
  }
  wait_for_rank_0();
}

/// The library reads files by this function.
static int is_disk_slow;
__attribute__((visibility("default"))) ssize_t pread(int file, void *to, size_t n, off_t at) {
  if (is_disk_slow) take_long();
  return syscall(SYS_pread64, file, to, n, at);
}
static void slow_file(void) {
  char name[64];
  MPI_File file;
  MPI_Request request;
  snprintf(name, sizeof name, "zoo_file.%d", getpid());
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file);
  MPI_File_write(file, buffer, LONG_BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
  is_disk_slow = 1;
  MPI_File_iread_at(file, 0, buffer, LONG_BYTES, MPI_BYTE, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

static void *answer_later(void *argument) {
  (void)argument;
  take_long();
  for (int i = 0; i < size; ++i) send(i, 1);
  return NULL;
}
static void thread_sleeps(void) {  // and then sends what all wait for
  pthread_t thread;
  if (rank == 0) pthread_create(&thread, NULL, answer_later, NULL);
  receive(0, 1);
  if (rank == 0) pthread_join(thread, NULL);
}

static int ends[2];
static void *answer_after_read(void *argument) {
  (void)argument;
  char byte;
  if (read(ends[0], &byte, 1) != 1) exit(1);
  for (int i = 0; i < size; ++i) send(i, 1);
  return NULL;
}
static void thread_reads(void) {
  pthread_t thread;
  if (rank == 0) {
    if (pipe(ends) != 0) exit(1);
    if (fork() == 0) {
      take_long();
      _exit(write(ends[1], "x", 1) != 1);
    }
    pthread_create(&thread, NULL, answer_after_read, NULL);
  }
  receive(0, 1);
  if (rank == 0) pthread_join(thread, NULL);
}

static sem_t *shared;
static void *answer_after_post(void *argument) {
  (void)argument;
  sem_wait(shared);
  for (int i = 0; i < size; ++i) send(i, 1);
  return NULL;
}
static void thread_waits_for_process(void) {  // a futex, without a time limit, that another process wakes
  pthread_t thread;
  if (rank == 0) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(shared, 1, 0);
    if (fork() == 0) {
      take_long();
      sem_post(shared);
      _exit(0);
    }
    pthread_create(&thread, NULL, answer_after_post, NULL);
  }
  receive(0, 1);
  if (rank == 0) pthread_join(thread, NULL);
}

static int query(void *state, MPI_Status *status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int release(void *state) { return (void)state, MPI_SUCCESS; }
static int cancel(void *state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }
static void *complete_later(void *request) {
  take_long();
  MPI_Grequest_complete(*(MPI_Request *)request);
  return NULL;
}
static void generalized(void) {
  MPI_Request request, copy;
  pthread_t thread;
  MPI_Grequest_start(query, release, cancel, NULL, &request);
  copy = request;
  pthread_create(&thread, NULL, complete_later, &copy);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  pthread_join(thread, NULL);
}

static void before_init(void) { wait_for_rank_0(), rank == 0 ? answer_all() : (void)0; }

static const struct {
  const char *name;
  void (*run)(void);
  int has_threads;
} kPrograms[] = {
    {"receive_cycle", receive_cycle, 0},
    {"send_cycle", send_cycle, 0},
    {"synchronous_to_self", synchronous_to_self, 0},
    {"wildcard", wildcard, 0},
    {"wildcard_taken", wildcard_taken, 0},
    {"wrong_tag", wrong_tag, 0},
    {"wrong_communicator", wrong_communicator, 0},
    {"collective_order", collective_order, 0},
    {"missing_partner", missing_partner, 0},
    {"lost_root", lost_root, 0},
    {"one_in_finalize", one_in_finalize, 0},
    {"wait_all", wait_all, 0},
    {"wait_any", wait_any, 0},
    {"probe", probe, 0},
    {"nonblocking_collective", nonblocking_collective, 0},
    {"two_communicators", two_communicators, 0},
    {"duplicate_or_not", duplicate_or_not, 0},
    {"threads", threads, 1},
    {"lock_held", lock_held, 0},
    {"nobody_posts", nobody_posts, 0},
    {"many_collectives", many_collectives, 0},
    {"persistent_collectives", persistent_collectives, 0},
    {"behind_a_library", behind_a_library, 0},
    {"test_in_vain", test_in_vain, 0},
    {"probe_in_vain", probe_in_vain, 0},
    {"other_count", other_count, 0},
    {"other_operator", other_operator, 0},
    {"other_type", other_type, 0},
    {"other_root", other_root, 0},
    {"other_root_in_session", other_root_in_session, 0},
    {"other_call", other_call, 0},
    {"all_counted_at_once", all_counted_at_once, 0},
    {"sent_too_little", sent_too_little, 0},
    {"too_long", too_long, 0},
    {"alike", alike, 0},
    {"other_file_call", other_file_call, 0},
    {"not_a_handle", not_a_handle, 0},
    {"not_a_buffer", not_a_buffer, 0},
    {"sleeps", sleeps, 0},
    {"computes", computes, 0},
    {"test_loop", test_loop, 0},
    {"probe_loop", probe_loop, 0},
    {"stopped", stopped, 0},
    {"stopped_while_waiting", stopped_while_waiting, 0},
    {"lock_kept_long", lock_kept_long, 0},
    {"slow_stream", slow_stream, 0},
    {"callback_sleeps", callback_sleeps, 0},
    {"child_process", child_process, 0},
    {"slow_file", slow_file, 0},
    {"before_init", before_init, 0},
    {"thread_sleeps", thread_sleeps, 1},
    {"thread_reads", thread_reads, 1},
    {"thread_waits_for_process", thread_waits_for_process, 1},
    {"generalized", generalized, 1},
};

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  const char *const launched = getenv("PMI_RANK");
  if (!strcmp(name, "before_init") && launched && !strcmp(launched, "0")) take_long();
  for (size_t i = 0; i < sizeof kPrograms / sizeof *kPrograms; ++i) {
    if (strcmp(kPrograms[i].name, name)) continue;
    int level;
    MPI_Init_thread(&argc, &argv, kPrograms[i].has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    buffer = calloc(1, LONG_BYTES);
    kPrograms[i].run();
    MPI_Finalize();
    return 0;
  }
  fprintf(stderr, "no program of the zoo is called \"%s\"\n", name);
  return 2;
}
