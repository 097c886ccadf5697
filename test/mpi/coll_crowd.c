/* Much of everything: more nonblocking operations at once than a region has places, more persistent ones than
 * it has tracks, freed in another order on every rank; operators that ask MPI about their type, on several
 * threads; types without data; edges to oneself and several to the same neighbor; blocks in place. */
#include <pthread.h>

#include "coll_check.h"

enum { AT_ONCE = 150, PERSISTENT = 10, ROUNDS = 6, THREADS = 3, LONG = 30000 };

static int length_of(int i) { return i % 7 == 0 ? LONG : i % 3 == 0 ? 1500 : 1 + i % 5; }

static void check_many_at_once(void) {
  static int *in[AT_ONCE], *out[AT_ONCE];
  MPI_Request requests[AT_ONCE];
  MPI_Comm on;
  MPI_Comm_dup(MPI_COMM_WORLD, &on);
  for (int i = 0; i < AT_ONCE; ++i) {
    const int count = length_of(i), root = i % check_size;
    in[i] = malloc(sizeof(int) * (size_t)count);
    out[i] = malloc(sizeof(int) * (size_t)count * (size_t)check_size);
    for (int k = 0; k < count; ++k) in[i][k] = token(check_rank, i, k);
    if (i % 4 == 0) MPI_Iallreduce(in[i], out[i], count, MPI_INT, MPI_SUM, on, &requests[i]);
    if (i % 4 == 1) MPI_Ibcast(in[i], count, MPI_INT, root, on, &requests[i]);
    if (i % 4 == 2) MPI_Iallgather(in[i], count, MPI_INT, out[i], count, MPI_INT, on, &requests[i]);
    if (i % 4 == 3) MPI_Iexscan(in[i], out[i], count, MPI_INT, MPI_SUM, on, &requests[i]);
  }
  MPI_Comm_free(&on); /* with all of them under way */
  for (int i = AT_ONCE - 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  for (int i = 0; i < AT_ONCE; ++i) {
    const int count = length_of(i), last = count - 1;
    int sum = 0, before = 0;
    for (int rank = 0; rank < check_size; ++rank) {
      if (rank < check_rank) before += token(rank, i, last);
      sum += token(rank, i, last);
      if (i % 4 == 2) CHECK(out[i][rank * count + last] == token(rank, i, last), "allgather %d", i);
    }
    if (i % 4 == 0) CHECK(out[i][last] == sum, "allreduce %d: %d", i, out[i][last]);
    if (i % 4 == 1) CHECK(in[i][last] == token(i % check_size, i, last), "bcast %d", i);
    if (i % 4 == 3 && check_rank > 0) CHECK(out[i][last] == before, "exscan %d: %d", i, out[i][last]);
    free(in[i]);
    free(out[i]);
  }
}

/* Made in the same order, started and freed in any. */
static void check_persistent(void) {
  MPI_Request requests[PERSISTENT];
  int sums[PERSISTENT];
  for (int round = 0; round < ROUNDS; ++round) {
    int mine = check_rank + round;
    const int wanted = check_size * (check_size - 1) / 2 + check_size * round;
    for (int i = 0; i < PERSISTENT; ++i)
      MPI_Allreduce_init(&mine, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
    for (int again = 0; again < 3; ++again) {
      for (int i = 0; i < PERSISTENT; ++i) MPI_Start(&requests[(i * 3 + check_rank + again) % PERSISTENT]);
      MPI_Waitall(PERSISTENT, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < PERSISTENT; ++i)
        CHECK(sums[i] == wanted, "round %d, sum %d: %d", round, i, sums[i]);
    }
    for (int i = 0; i < PERSISTENT; ++i)
      MPI_Request_free(&requests[(i * 7 + check_rank + round) % PERSISTENT]);
  }
}

/* Affine maps x -> a x + b under composition: associative, not commutative. */
typedef struct {
  unsigned a, b;
} Map;

static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint lower, extent;
  int size, rank;
  MPI_Type_get_extent(*type, &lower, &extent);
  MPI_Type_size(*type, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(extent == sizeof(Map) && lower == 0 && size == sizeof(Map) && rank == check_rank, "in an operator");
  for (int i = 0; i < *count; ++i) {
    const Map left = ((Map*)in)[i];
    Map* const right = &((Map*)inout)[i];
    right->b += left.b * right->a;
    right->a *= left.a;
  }
}

static MPI_Comm comms[THREADS];

static void* work(void* argument) {
  const int me = (int)(long)argument, counts[] = {1, 700, LONG};
  Map *mine = malloc(LONG * sizeof *mine), *all = malloc(LONG * sizeof *all);
  MPI_Datatype type;
  MPI_Op op;
  MPI_Type_contiguous(2, MPI_UNSIGNED, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(compose, 0, &op);
  for (int round = 0; round < 12; ++round) {
    const int count = counts[round % 3], is_in_place = round % 2;
    for (int i = 0; i < count; ++i)
      all[i] = mine[i] = (Map){3 + (unsigned)(check_rank + me), (unsigned)(i + round)};
    Map wanted = {1, 0};
    for (int rank = 0; rank < check_size; ++rank) {
      const Map next = {3 + (unsigned)(rank + me), (unsigned)(count - 1 + round)};
      wanted = (Map){wanted.a * next.a, wanted.b * next.a + next.b};
    }
    MPI_Allreduce(is_in_place ? MPI_IN_PLACE : mine, all, count, type, op, comms[me]);
    const Map got = all[count - 1];
    CHECK(got.a == wanted.a && got.b == wanted.b, "thread %d, round %d: %u %u", me, round, got.a, got.b);
  }
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  free(mine);
  free(all);
  return NULL;
}

static void check_operators_on_threads(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&comms[i]);
}

static void nothing(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}

/* Elements without data, and none of elements with data. */
static void check_no_data(void) {
  MPI_Datatype empty;
  MPI_Op op;
  int in[4] = {1, 2, 3, 4}, out[4] = {-1, -1, -1, -1};
  int *counts = calloc((size_t)check_size, sizeof(int)), *places = calloc((size_t)check_size, sizeof(int));
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  MPI_Op_create(nothing, 1, &op);
  MPI_Bcast(in, 4, empty, 0, MPI_COMM_WORLD);
  MPI_Reduce(in, out, 4, empty, op, 0, MPI_COMM_WORLD);
  MPI_Allreduce(in, out, 4, empty, op, MPI_COMM_WORLD);
  MPI_Scan(in, out, 4, empty, op, MPI_COMM_WORLD);
  MPI_Exscan(in, out, 4, empty, op, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(in, out, 1, empty, op, MPI_COMM_WORLD);
  MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Gather(in, 4, empty, out, 4, empty, 0, MPI_COMM_WORLD);
  MPI_Alltoall(in, 4, empty, out, 4, empty, MPI_COMM_WORLD);
  MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgatherv(in, 0, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) CHECK(in[i] == i + 1 && out[i] == -1, "element %d", i);
  MPI_Op_free(&op);
  MPI_Type_free(&empty);
  free(counts);
  free(places);
}

/* Each rank has two edges to itself and three to the next one; blocks are short and long. */
static void check_edges(void) {
  if (check_size == 1) return; /* then all edges are alike */
  enum { EDGES = 5 };
  const int next = (check_rank + 1) % check_size, before = (check_rank + check_size - 1) % check_size;
  const int to[EDGES] = {next, check_rank, next, check_rank, next};
  const int from[EDGES] = {check_rank, before, before, check_rank, before};
  const int lengths[EDGES] = {3, LONG, 0, 5, LONG}; /* by edge to: next, self, next, self, next */
  const int got_lengths[EDGES] = {LONG, 3, 0, 5, LONG};
  const int sent_as[EDGES] = {1, 0, 2, 3, 4}; /* the edge that arrives */
  int out_places[EDGES], in_places[EDGES], out_end = 0, in_end = 0;
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, EDGES, from, MPI_UNWEIGHTED, EDGES, to, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  for (int i = 0; i < EDGES; ++i) {
    out_places[i] = out_end, in_places[i] = in_end;
    out_end += lengths[i], in_end += got_lengths[i];
  }
  int *out = malloc(sizeof(int) * (size_t)out_end), *in = malloc(sizeof(int) * (size_t)in_end);
  for (int i = 0; i < EDGES; ++i)
    for (int k = 0; k < lengths[i]; ++k) out[out_places[i] + k] = token(check_rank, i, k);
  for (int mode = NOW; mode < MODES; ++mode) {
    MPI_Request request;
    memset(in, 0, sizeof(int) * (size_t)in_end);
    if (mode == NOW)
      MPI_Neighbor_alltoallv(out, lengths, out_places, MPI_INT, in, got_lengths, in_places, MPI_INT, graph);
    if (mode == LATER)
      MPI_Ineighbor_alltoallv(out, lengths, out_places, MPI_INT, in, got_lengths, in_places, MPI_INT, graph,
                              &request);
    if (mode == AGAIN)
      MPI_Neighbor_alltoallv_init(out, lengths, out_places, MPI_INT, in, got_lengths, in_places, MPI_INT,
                                  graph, MPI_INFO_NULL, &request);
    finish(mode, &request);
    for (int i = 0; i < EDGES; ++i)
      for (int k = 0; k < got_lengths[i]; ++k)
        CHECK(in[in_places[i] + k] == token(from[i], sent_as[i], k), "mode %d, edge %d: %d", mode, i, k);
  }
  MPI_Comm_free(&graph);
  free(out);
  free(in);
}

/* v- and w-forms in place, unequal blocks with gaps in between. */
static void check_in_place(int unit) {
  const size_t n = (size_t)check_size;
  int *counts = malloc(n * sizeof(int)), *places = malloc(n * sizeof(int)), *bytes = malloc(n * sizeof(int));
  MPI_Datatype* types = malloc(n * sizeof *types);
  int end = 0;
  for (int i = 0; i < check_size; ++i) { /* symmetric: rank r has as much for s as s for r */
    counts[i] = (check_rank + i) % 3 * unit;
    places[i] = end, bytes[i] = end * (int)sizeof(int), types[i] = MPI_INT;
    end += counts[i] + 1;
  }
  int* data = malloc(sizeof(int) * (size_t)end);
  for (int form = 0; form < 2; ++form) {
    for (int i = 0; i < end; ++i) data[i] = GAP;
    for (int i = 0; i < check_size; ++i)
      for (int k = 0; k < counts[i]; ++k) data[places[i] + k] = token(check_rank, i, k);
    if (form == 0)
      MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, data, counts, places, MPI_INT,
                    MPI_COMM_WORLD);
    else
      MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, data, counts, bytes, types, MPI_COMM_WORLD);
    for (int i = 0; i < check_size; ++i) {
      for (int k = 0; k < counts[i]; ++k)
        CHECK(data[places[i] + k] == token(i, check_rank, k), "form %d", form);
      CHECK(data[places[i] + counts[i]] == GAP, "form %d: behind block %d", form, i);
    }
  }
  free(data);
  free(counts);
  free(places);
  free(bytes);
  free(types);
}

int main(int argc, char** argv) {
  check_start_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  check_many_at_once();
  check_persistent();
  check_operators_on_threads();
  check_no_data();
  check_edges();
  check_in_place(1);
  check_in_place(LONG / 3);
  return check_end();
}
