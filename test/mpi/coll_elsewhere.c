/* A nonblocking collective goes on while its rank waits for something else: rank 0 begins one and then blocks
 * in a call that ends only after others have ended their part of the collective.  No thread of the library
 * helps (test/CMakeLists.txt sets DUNLIN_HELPER=never).  Where rank 0's part is needed and its wait does not
 * do it, the job hangs until mpirun's limit.  It is needed in messages, where results are combined by slices,
 * and where it has begun more operations than there are places for.
 *
 * ranks: none
 *
 * variants: none
 */
#include "coll_check.h"

enum { ALLREDUCE, BCAST, ALLTOALL, KINDS };
enum { RECEIVES, PROBES, WAITS_FOR_ANOTHER, IS_IN_A_BARRIER, IS_IN_ANOTHER, MANNERS };
static const int kCounts[] = {1, 300, 5000, 60000};
enum { COUNTS = 4, MOST = 12 };

static MPI_Comm other;

static void begin(int kind, int is_persistent, int count, int* in, int* out, MPI_Request* request) {
  const MPI_Comm on = MPI_COMM_WORLD;
  if (is_persistent) {
    const MPI_Info none = MPI_INFO_NULL;
    if (kind == ALLREDUCE) MPI_Allreduce_init(in, out, count, MPI_INT, MPI_SUM, on, none, request);
    if (kind == BCAST) MPI_Bcast_init(out, count, MPI_INT, 0, on, none, request);
    if (kind == ALLTOALL) MPI_Alltoall_init(in, count, MPI_INT, out, count, MPI_INT, on, none, request);
    MPI_Start(request);
  } else {
    if (kind == ALLREDUCE) MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, on, request);
    if (kind == BCAST) MPI_Ibcast(out, count, MPI_INT, 0, on, request);
    if (kind == ALLTOALL) MPI_Ialltoall(in, count, MPI_INT, out, count, MPI_INT, on, request);
  }
}

/* What rank 1 does after the collective, and rank 0 meanwhile. */
static void meet(int manner, int n, MPI_Request* collectives) {
  int word = check_rank == 1 ? 4711 : 0, sum = 0;
  MPI_Request request;
  if (check_rank != 0) MPI_Waitall(n, collectives, MPI_STATUSES_IGNORE);
  if (manner == IS_IN_A_BARRIER) MPI_Barrier(other);
  if (manner == IS_IN_ANOTHER) {
    MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, other);
    CHECK(sum == 4711, "%d", sum);
  }
  if (manner < IS_IN_A_BARRIER && check_rank == 1) MPI_Send(&word, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
  if (manner < IS_IN_A_BARRIER && check_rank == 0) {
    if (manner == PROBES) MPI_Probe(1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (manner == WAITS_FOR_ANOTHER) {
      MPI_Irecv(&word, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&word, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CHECK(word == 4711, "%d", word);
  }
  if (check_rank == 0) MPI_Waitall(n, collectives, MPI_STATUSES_IGNORE);
}

/* Element `i` of what this rank gets by operation number `which`. */
static int expected(int kind, int count, int which, int i) {
  int sum = 0;
  if (kind == BCAST) return token(0, 0, i) + which;
  if (kind == ALLTOALL) return token(i / count, check_rank, i % count) + which;
  for (int from = 0; from < check_size; ++from) sum += token(from, 0, i) + which;
  return sum;
}

/* `n` at once. */
static void check(int kind, int manner, int is_persistent, int count, int n) {
  const int blocks = kind == ALLTOALL ? check_size : 1, total = blocks * count;
  int* const in = malloc((size_t)(n * total) * sizeof *in);
  int* const out = malloc((size_t)(n * total) * sizeof *out);
  MPI_Request requests[MOST];
  for (int at = 0; at < n * total; ++at) {
    const int which = at / total, i = at % total;
    in[at] = token(check_rank, i / count, i % count) + which;
    out[at] = kind == BCAST && check_rank == 0 ? token(0, 0, i) + which : UNSET;
  }
  for (int which = 0; which < n; ++which)
    begin(kind, is_persistent, count, in + which * total, out + which * total, &requests[which]);
  meet(manner, n, requests);
  for (int at = 0; at < n * total; ++at) {
    const int wanted = expected(kind, count, at / total, at % total);
    CHECK(out[at] == wanted, "kind %d, manner %d, %d of %d elements: element %d of number %d is %d, not %d",
          kind, manner, n, count, at % total, at / total, out[at], wanted);
  }
  for (int which = 0; which < n && is_persistent; ++which) MPI_Request_free(&requests[which]);
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int kind = 0; kind < KINDS; ++kind)
    for (int manner = 0; manner < MANNERS; ++manner)
      for (int i = 0; i < COUNTS; ++i)
        for (int is_persistent = 0; is_persistent < 2; ++is_persistent) {
          check(kind, manner, is_persistent, kCounts[i], 1);
          if (kCounts[i] <= 5000) check(kind, manner, is_persistent, kCounts[i], MOST);
        }
  MPI_Comm_free(&other);
  return check_end();
}
