/* Many collectives at once: on several communicators, beside wildcard receives, finished in another order
 * than started, persistent ones started again and again in different orders, handles freed while an operation
 * needs them, large counts. */
#include <stdint.h>

#include "coll_check.h"

enum { AT_ONCE = 40, ROUNDS = 25 };

static void check_out_of_order(void) {
  MPI_Comm comms[3];
  MPI_Request requests[AT_ONCE], receive;
  long sums[AT_ONCE], words[AT_ONCE], mine[AT_ONCE];
  int token_in = -1, token_out = check_rank;
  MPI_Status status;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comms[1]);
  comms[2] = MPI_COMM_WORLD;
  MPI_Irecv(&token_in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
  for (int i = 0; i < AT_ONCE; ++i) {
    mine[i] = check_rank * 100 + i;
    words[i] = check_rank == i % check_size ? i : -1;
    if (i % 2 == 0) {
      MPI_Iallreduce(&mine[i], &sums[i], 1, MPI_LONG, MPI_SUM, comms[i % 3], &requests[i]);
    } else {
      int root = i % check_size;
      if (i % 3 == 1) root = check_size - 1 - root; /* that communicator has the ranks reversed */
      MPI_Ibcast(&words[i], 1, MPI_LONG, root, comms[i % 3], &requests[i]);
    }
  }
  MPI_Comm_free(&comms[0]); /* the operations go on */
  MPI_Comm_free(&comms[1]);
  MPI_Send(&token_out, 1, MPI_INT, (check_rank + 1) % check_size, 77, MPI_COMM_WORLD);
  MPI_Wait(&receive, &status);
  CHECK(token_in == (check_rank + check_size - 1) % check_size && status.MPI_TAG == 77,
        "a wildcard receive took a message of a collective");
  for (int i = AT_ONCE - 1; i >= 0; --i) {
    const int one = (i * 7 + check_rank) % AT_ONCE; /* every rank in another order */
    MPI_Wait(&requests[one], MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < AT_ONCE; ++i) {
    const long sum = 100L * check_size * (check_size - 1) / 2 + (long)i * check_size;
    if (i % 2 == 0) CHECK(sums[i] == sum, "allreduce %d: %ld", i, sums[i]);
    if (i % 2 == 1) CHECK(words[i] == i, "bcast %d: %ld", i, words[i]);
  }
}

static void check_persistent(void) {
  enum { KINDS = 4 };
  MPI_Request requests[KINDS];
  int sum, mine, word, part, *all = malloc((size_t)check_size * sizeof(int));
  int* parts = malloc((size_t)check_size * sizeof(int));
  MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Bcast_init(&word, 1, MPI_INT, check_size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Allgather_init(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  MPI_Scatter_init(parts, 1, MPI_INT, &part, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
  for (int round = 0; round < ROUNDS; ++round) {
    mine = check_rank + round;
    word = check_rank == check_size - 1 ? round : -1;
    for (int i = 0; i < check_size; ++i) parts[i] = round * 1000 + i;
    for (int i = 0; i < KINDS; ++i) MPI_Start(&requests[(i + check_rank + round) % KINDS]);
    MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE);
    CHECK(sum == check_size * (check_size - 1) / 2 + round * check_size, "round %d: sum %d", round, sum);
    CHECK(word == round, "round %d: word %d", round, word);
    CHECK(part == round * 1000 + check_rank, "round %d: part %d", round, part);
    for (int i = 0; i < check_size; ++i)
      CHECK(all[i] == i + round, "round %d: of rank %d: %d", round, i, all[i]);
  }
  for (int i = 0; i < KINDS; ++i) MPI_Request_free(&requests[i]);
  free(all);
  free(parts);
}

static void product(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] *= ((int*)in)[i];
}

static void check_freed_handles(void) {
  MPI_Datatype pair;
  MPI_Op op;
  MPI_Request requests[2];
  int mine[2] = {2, 1}, result[2] = {0, 0}, power = 1, *all = malloc((size_t)check_size * 2 * sizeof(int));
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(product, 1, &op);
  MPI_Iallreduce(mine, result, 2, MPI_INT, op, MPI_COMM_WORLD, &requests[0]);
  MPI_Iallgather(mine, 1, pair, all, 1, pair, MPI_COMM_WORLD, &requests[1]);
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < check_size; ++i) power *= 2;
  CHECK(result[0] == power && result[1] == 1, "product %d, %d", result[0], result[1]);
  for (int i = 0; i < 2 * check_size; ++i) CHECK(all[i] == 2 - i % 2, "gathered %d at %d", all[i], i);
  free(all);
}

/* Arrays of counts, displacements and datatypes may go right after the call: others' libraries copy them. */
static void check_arrays_of_the_call(int persistent) {
  const size_t n = (size_t)check_size;
  int *counts = malloc(n * sizeof(int)), *places = malloc(n * sizeof(int)), *bytes = malloc(n * sizeof(int));
  int *out = malloc(n * sizeof(int)), *in = malloc(4 * n * sizeof(int)), sum = -1;
  MPI_Datatype* types = malloc(n * sizeof(MPI_Datatype));
  MPI_Request requests[4];
  const MPI_Comm on = MPI_COMM_WORLD;
  for (int i = 0; i < check_size; ++i) {
    counts[i] = 1;
    places[i] = i;
    bytes[i] = i * (int)sizeof(int);
    types[i] = MPI_INT;
    out[i] = token(check_rank, i, 0);
  }
  if (persistent) {
    MPI_Alltoallv_init(out, counts, places, MPI_INT, in, counts, places, MPI_INT, on, MPI_INFO_NULL,
                       &requests[0]);
    MPI_Alltoallw_init(out, counts, bytes, types, in + n, counts, bytes, types, on, MPI_INFO_NULL,
                       &requests[1]);
    MPI_Allgatherv_init(out, 1, MPI_INT, in + 2 * n, counts, places, MPI_INT, on, MPI_INFO_NULL,
                        &requests[2]);
    MPI_Reduce_scatter_init(places, &sum, counts, MPI_INT, MPI_SUM, on, MPI_INFO_NULL, &requests[3]);
  } else {
    MPI_Ialltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, on, &requests[0]);
    MPI_Ialltoallw(out, counts, bytes, types, in + n, counts, bytes, types, on, &requests[1]);
    MPI_Iallgatherv(out, 1, MPI_INT, in + 2 * n, counts, places, MPI_INT, on, &requests[2]);
    MPI_Ireduce_scatter(places, &sum, counts, MPI_INT, MPI_SUM, on, &requests[3]);
  }
  for (int i = 0; i < check_size; ++i) {
    counts[i] = bytes[i] = 1 << 30;
    types[i] = MPI_DATATYPE_NULL;
  }
  if (persistent) MPI_Startall(4, requests);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < check_size; ++i) {
    CHECK(in[i] == token(i, check_rank, 0), "alltoallv from %d", i);
    CHECK(in[check_size + i] == token(i, check_rank, 0), "alltoallw from %d", i);
    CHECK(in[2 * check_size + i] == token(i, 0, 0), "allgatherv from %d", i);
  }
  CHECK(sum == check_rank * check_size, "reduce_scatter: %d", sum);
  for (int i = 0; i < 4 && persistent; ++i) MPI_Request_free(&requests[i]);
  free(counts);
  free(places);
  free(bytes);
  free(types);
  free(out);
  free(in);
}

/* The forms with large counts, and messages of some megabytes. */
static void check_large(void) {
  const MPI_Count count = 600000;
  double* data = malloc((size_t)count * sizeof(double));
  double* sums = malloc((size_t)count * sizeof(double));
  for (MPI_Count i = 0; i < count; ++i) data[i] = (double)(check_rank + i % 1000);
  MPI_Allreduce_c(data, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (MPI_Count i = 0; i < count; ++i)
    CHECK(sums[i] == check_size * (check_size - 1) / 2 + (double)check_size * (double)(i % 1000), "sum %lld",
          (long long)i);
  if (check_rank != 0) memset(data, 0, (size_t)count * sizeof(double));
  MPI_Bcast_c(data, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (MPI_Count i = 0; i < count; ++i) CHECK(data[i] == (double)(i % 1000), "bcast %lld", (long long)i);
  free(data);
  free(sums);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  for (int i = 0; i < 5; ++i) check_out_of_order();
  check_persistent();
  check_freed_handles();
  check_arrays_of_the_call(0);
  check_arrays_of_the_call(1);
  check_large();
  return check_end();
}
