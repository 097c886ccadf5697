/* A function of the program's, called inside an MPI call, begins the first nonblocking collective of its
 * process: an attribute's copy function, a generalized request's query function, an error handler.  With
 * DUNLIN_HELPER=always that would make the library's helper thread, and the call around it, which holds no
 * lock, goes on beside it: so it has to wait.  An operator may probe. ranks: 2 4 variants: none */
#include <dirent.h>
#include <unistd.h>

#include "coll_check.h"

enum { LONG = 1 << 16 };
static int in[LONG], out[LONG];
static MPI_Request left_open; /* while the call around goes on */
static int calls;

static int threads(void) {
  int count = 0;
  DIR* const tasks = opendir("/proc/self/task");
  CHECK(tasks, "no list of threads");
  while (readdir(tasks)) ++count;
  closedir(tasks);
  return count;
}

static void begin_and_end_one(int is_left_open, int is_in_function) {
  const int before = threads();
  MPI_Request request;
  for (int i = 0; i < LONG; ++i) in[i] = check_rank + i;
  MPI_Iallreduce(in, out, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  CHECK(!is_in_function || threads() == before, "a thread was made inside a call");
  calls += is_in_function;
  if (is_left_open)
    left_open = request;
  else
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void check_sum(void) {
  for (int i = 0; i < LONG; ++i)
    CHECK(out[i] == check_size * (check_size - 1) / 2 + check_size * i, "element %d is %d", i, out[i]);
}

static int copy(MPI_Comm comm, int key, void* extra, void* value, void* copied, int* flag) {
  (void)comm, (void)key, (void)extra;
  begin_and_end_one(1, 1);
  *(void**)copied = value;
  *flag = 1;
  if (check_rank == 0) usleep(20000); /* the others wait for this rank, in MPI_Comm_dup */
  return MPI_SUCCESS;
}

static int query(void* extra, MPI_Status* status) {
  (void)extra;
  begin_and_end_one(0, 1);
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int let_go(void* extra) { return (void)extra, MPI_SUCCESS; }
static int cancel(void* extra, int is_complete) { return (void)extra, (void)is_complete, MPI_SUCCESS; }

static void handle(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  begin_and_end_one(0, 1);
}

/* The standard forbids communication here; programs do it all the same, and a probe loses nothing. */
static void add_and_probe(void* from, void* to, int* count, MPI_Datatype* type) {
  int flag;
  (void)type;
  MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  for (int i = 0; i < *count; ++i) ((int*)to)[i] += ((int*)from)[i];
}
static void test_probe_in_operator(void) {
  enum { MANY = 3 };
  static int sums[MANY][LONG];
  MPI_Request requests[MANY];
  MPI_Op op;
  MPI_Op_create(add_and_probe, 1, &op);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < MANY; ++i)
      MPI_Iallreduce(in, sums[i], round % 2 ? LONG : 10, MPI_INT, op, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; ++i)
      CHECK(sums[i][9] == check_size * (check_size - 1) / 2 + check_size * 9, "sum %d is %d", i, sums[i][9]);
  }
  MPI_Op_free(&op);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  int key, value = 7;
  MPI_Comm other;
  MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Wait(&left_open, MPI_STATUS_IGNORE);
  check_sum();
  MPI_Comm_free(&other);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  MPI_Comm_free_keyval(&key);

  MPI_Request request;
  MPI_Grequest_start(query, let_go, cancel, NULL, &request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_sum();

  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Send(in, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD); /* there is no such rank */
  check_sum();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  CHECK(calls == 3, "%d functions were called", calls);

  for (int round = 0; round < 100; ++round) { /* now it may come */
    begin_and_end_one(0, 0);
    check_sum();
  }
  test_probe_in_operator();
  MPI_Finalize();
  return 0;
}
