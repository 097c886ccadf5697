/* Nonblocking collectives go on while a rank computes: the library's helper thread does this rank's part
 * (DUNLIN_HELPER=always; with another first argument it is only seen that results are right).  Operators of
 * the program's are called by the program's threads only. ranks: 2 3 variants: none */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll_check.h"

enum { LONG = 1 << 18, KINDS = 6, ROUNDS = 3 };
static const double kSoon = 0.35;
static pthread_t program;
static int is_helped;

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  CHECK(pthread_equal(pthread_self(), program), "an operator was called by another thread");
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void compute(double seconds) {
  for (const double start = MPI_Wtime(); MPI_Wtime() - start < seconds;) {
  }
}

static void begin(int kind, int* in, int* out, MPI_Op own, MPI_Request* request) {
  const int part = LONG / check_size;
  switch (kind) {
    case 0:
      MPI_Iallreduce(in, out, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
      break;
    case 1:
      MPI_Ibcast(in, LONG, MPI_INT, check_size - 1, MPI_COMM_WORLD, request);
      break;
    case 2:
      MPI_Ialltoall(in, part, MPI_INT, out, part, MPI_INT, MPI_COMM_WORLD, request);
      break;
    case 3:
      MPI_Iallgather(in, part, MPI_INT, out, part, MPI_INT, MPI_COMM_WORLD, request);
      break;
    case 4:
      MPI_Ibarrier(MPI_COMM_WORLD, request);
      break;
    default:
      MPI_Iallreduce(in, out, LONG, MPI_INT, own, MPI_COMM_WORLD, request);
      break;
  }
}

static void check_result(int kind, const int* in, const int* out) {
  const int part = LONG / check_size, ranks = check_size * (check_size - 1) / 2;
  for (int i = 0; i < LONG; ++i) {
    int expected = -1, is = out[i];
    if (kind == 0 || kind == 5) expected = ranks + check_size * i;
    if (kind == 1) expected = check_size - 1 + i, is = in[i];
    if (kind == 2 && i < part * check_size) expected = i / part + check_rank * part + i % part;
    if (kind == 3 && i < part * check_size) expected = i / part + i % part;
    CHECK(is == expected, "kind %d: element %d is %d, not %d", kind, i, is, expected);
  }
}

/* Rank 0 is there first and computes; the others come later, wait, and are not to wait for its next call. */
static void check_kind(int kind, MPI_Op own, int is_persistent) {
  int* in = malloc(LONG * sizeof *in);
  int* out = malloc(LONG * sizeof *out);
  MPI_Request request;
  for (int i = 0; i < LONG; ++i) in[i] = check_rank + i, out[i] = -1;
  if (is_persistent)
    MPI_Allreduce_init(in, out, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank != 0) compute(0.02);
  if (is_persistent)
    MPI_Start(&request);
  else
    begin(kind, in, out, own, &request);
  if (check_rank == 0) compute(is_helped ? 0.6 : 0.01);
  const double start = MPI_Wtime();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double waited = MPI_Wtime() - start;
  if (is_helped && kind != 5)
    CHECK(waited < kSoon, "kind %d%s: waited %.3f s", kind, is_persistent ? ", persistent" : "", waited);
  check_result(kind, in, out);
  if (is_persistent) MPI_Request_free(&request);
  free(in);
  free(out);
}

/* Rank 0 begins more operations than there are places for before it computes: the others want those of its
 * first ones. */
static void check_ahead(int kind) {
  enum { AHEAD = 20 };
  MPI_Request requests[AHEAD];
  int in[AHEAD], out[AHEAD][16], blocks[16] = {0};
  const int root = kind == 2 ? 0 : check_size - 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank != 0) compute(0.02);
  const double start = MPI_Wtime();
  for (int i = 0; i < AHEAD; ++i) {
    in[i] = check_rank;
    if (kind == 0) MPI_Ibcast(&in[i], 1, MPI_INT, root, MPI_COMM_WORLD, &requests[i]);
    if (kind == 1) MPI_Iscatter(blocks, 1, MPI_INT, &in[i], 1, MPI_INT, root, MPI_COMM_WORLD, &requests[i]);
    if (kind == 2) MPI_Igather(&in[i], 1, MPI_INT, out[i], 1, MPI_INT, root, MPI_COMM_WORLD, &requests[i]);
    if (check_rank != 0) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
  const double took = MPI_Wtime() - start;
  if (is_helped && check_rank != 0) CHECK(took < kSoon, "kind %d, run ahead: took %.3f s", kind, took);
  if (check_rank != 0) return;
  compute(is_helped ? 0.6 : 0.01);
  MPI_Waitall(AHEAD, requests, MPI_STATUSES_IGNORE);
}

/* The library's thread and the program at once. */
static void check_crowd(MPI_Op own) {
  enum { AT_ONCE = 12 };
  MPI_Request requests[AT_ONCE];
  int in[AT_ONCE][64], out[AT_ONCE][64], token = check_rank;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < AT_ONCE; ++i) {
      for (int k = 0; k < 64; ++k) in[i][k] = check_rank + i + k + round;
      MPI_Iallreduce(in[i], out[i], 64, MPI_INT, i % 3 ? MPI_SUM : own, MPI_COMM_WORLD, &requests[i]);
      if (i % 4 == 0)
        MPI_Sendrecv_replace(&token, 1, MPI_INT, (check_rank + 1) % check_size, 5,
                             (check_rank + check_size - 1) % check_size, 5, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    }
    if (round % 50 == check_rank) compute(0.005);
    MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < AT_ONCE; ++i)
      for (int k = 0; k < 64; ++k) {
        const int sum = check_size * (check_size - 1) / 2 + check_size * (i + k + round);
        CHECK(out[i][k] == sum, "round %d: %d instead of %d", round, out[i][k], sum);
      }
  }
}

/* A child's calls are refused; they do not wait for the library's thread, which the child does not have. */
static void check_fork(void) {
  enum { FORKS = 40 };
  int* in = calloc(LONG, sizeof *in);
  int* out = malloc(LONG * sizeof *out);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int i = 0; i < FORKS; ++i) {
    MPI_Request request;
    MPI_Iallreduce(in, out, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    usleep((useconds_t)(37 * i % 300));
    const pid_t child = fork();
    if (child == 0) {
      int rank;
      alarm(10);
      _exit(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child, "waitpid");
    CHECK(status == 0, "child %d ended with status %d", i, status);
  }
  free(in);
  free(out);
}

/* Who waits hears the whole sentence of an error, whichever thread has found it. */
static void check_error(void) {
  int buffer[8] = {0};
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Comm comm;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (check_rank == 1) compute(0.05);
  MPI_Ibcast(buffer, check_rank == 1 ? 8 : 4, MPI_INT, 1, comm, &request);
  compute(is_helped ? 0.3 : 0.01);
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Error_string(code, text, &length);
  if (check_rank == 0) CHECK(strstr(text, "collective") != NULL, "error %d is \"%s\"", code, text);
  MPI_Comm_free(&comm);
}

/* The same for a message that the helper takes, into a buffer that is too short. */
static void check_receive_error(void) {
  int buffer[8] = {0};
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Comm comm;
  MPI_Request requests[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (check_rank == 0) MPI_Recv_init(buffer, 4, MPI_INT, 1, 5, comm, &requests[0]);
  for (int count = 8; count > 0; count -= 4) { /* too long, then as long as asked */
    if (check_rank == 0) {
      MPI_Start(&requests[0]);
      MPI_Ibarrier(comm, &requests[1]);
      compute(is_helped ? 0.3 : 0.01);
      const int code = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      MPI_Error_string(code, text, &length);
      if (count == 8)
        CHECK(strstr(text, "only room for 16") != NULL, "error %d is \"%s\"", code, text);
      else
        CHECK(code == MPI_SUCCESS, "the next message of the request: %s", text);
    } else {
      compute(0.05);
      if (check_rank == 1) MPI_Send(buffer, count, MPI_INT, 0, 5, comm);
      compute(is_helped ? 0.3 : 0.01);
      MPI_Ibarrier(comm, &requests[1]);
    }
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
  if (check_rank == 0) MPI_Request_free(&requests[0]);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Op own;
  check_start(&argc, &argv);
  is_helped = argc > 1 && strcmp(argv[1], "helped") == 0;
  program = pthread_self();
  MPI_Op_create(&add, 1, &own);
  for (int kind = 0; kind < KINDS; ++kind) check_kind(kind, own, 0);
  check_kind(0, own, 1);
  for (int kind = 0; kind < 3; ++kind) check_ahead(kind);
  check_crowd(own);
  check_fork();
  check_error();
  check_receive_error();
  MPI_Op_free(&own);
  return check_end();
}
