/* Neighborhood collectives on grids (open, periodic, with one and two processes along a dimension), graphs
   with repeated neighbors, in all three modes; blocks of one element of every form, and long ones. */
#include <unistd.h>

#include "coll_check.h"
#include "comm_check.h"

enum { kMost = 64 };

static MPI_Comm comm;
static int sources[kMost], destinations[kMost], indegree, outdegree;

/* What arrives at place i comes from sources[i], sent from its place `there(i)`. */
static int sent_by(int rank, int place) { return 1000 * rank + place; }

static void expect(const int* got, const int* places, const char* what) {
  int i;
  for (i = 0; i < indegree; ++i) {
    const int wanted = sources[i] == MPI_PROC_NULL ? -1 : sent_by(sources[i], places[i]);
    CHECK(got[i] == wanted, "%s: place %d holds %d instead of %d", what, i, got[i], wanted);
  }
}

static void clear(int* buffer) {
  int i;
  for (i = 0; i < kMost; ++i) buffer[i] = -1;
}

/* A nonblocking call keeps copies of its arrays: those of a Fortran program are gone when it returns, and a
   type may be freed.  Each rank is the late one once, so that all others have to wait. */
static void arrays_of_the_call(void) {
  int late;
  for (late = 0; late < check_size; ++late) {
    int left, right, i, out[2], in[2] = {-1, -1}, counts[2] = {1, 1}, starts[2] = {1, 0};
    int dims = check_size, periodic = 1;
    MPI_Aint places[2] = {sizeof(int), 0};
    MPI_Datatype types[2];
    MPI_Request request;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periodic, 0, &comm);
    MPI_Cart_shift(comm, 0, 1, &left, &right);
    for (i = 0; i < 2; ++i) {
      out[i] = sent_by(check_rank, i);
      MPI_Type_contiguous(1, MPI_INT, &types[i]);
      MPI_Type_commit(&types[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == late) usleep(50000);
    MPI_Ineighbor_alltoallv(out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, comm, &request);
    for (i = 0; i < 2; ++i) counts[i] = starts[i] = 9;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[1] == sent_by(left, 0) && in[0] == sent_by(right, 1), "alltoallv, arrays are gone: %d, %d",
          in[1], in[0]);
    in[0] = in[1] = -1;
    counts[0] = counts[1] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == late) usleep(50000);
    MPI_Ineighbor_alltoallw(out, counts, places, types, in, counts, places, types, comm, &request);
    for (i = 0; i < 2; ++i) counts[i] = 9, places[i] = 1 << 20, MPI_Type_free(&types[i]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[1] == sent_by(left, 0) && in[0] == sent_by(right, 1), "alltoallw, arrays are gone: %d, %d",
          in[1], in[0]);
    MPI_Comm_free(&comm);
  }
}

/* `places[i]`: under which number the process behind place i knows this one. */
static void all_forms(const int* places, const char* what) {
  int rank, i, out[kMost], in[kMost], zeros[kMost] = {0}, counts_out[kMost], counts_in[kMost],
                                      starts_out[kMost], starts_in[kMost];
  MPI_Aint bytes_out[kMost], bytes_in[kMost];
  MPI_Datatype types[kMost];
  MPI_Request request;
  MPI_Comm_rank(comm, &rank);
  for (i = 0; i < kMost; ++i) {
    out[i] = sent_by(rank, i);
    counts_out[i] = counts_in[i] = 1;
    starts_out[i] = i;
    starts_in[i] = kMost / 2 - i; /* backwards, with a gap */
    bytes_out[i] = i * (MPI_Aint)sizeof(int);
    bytes_in[i] = i * (MPI_Aint)sizeof(int);
    types[i] = MPI_INT;
  }
  clear(in);
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
  expect(in, places, what);
  clear(in);
  MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(in, places, what);
  MPI_Neighbor_alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, comm, MPI_INFO_NULL, &request);
  for (i = 0; i < 3; ++i) {
    clear(in);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(in, places, what);
  }
  MPI_Request_free(&request);
  clear(in);
  MPI_Neighbor_alltoallw(out, counts_out, bytes_out, types, in, counts_in, bytes_in, types, comm);
  expect(in, places, what);
  clear(in);
  MPI_Ineighbor_alltoallw(out, counts_out, bytes_out, types, in, counts_in, bytes_in, types, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(in, places, what);
  clear(in);
  MPI_Neighbor_alltoallv(out, counts_out, starts_out, MPI_INT, in, counts_in, starts_in, MPI_INT, comm);
  for (i = 0; i < indegree; ++i) {
    const int wanted = sources[i] == MPI_PROC_NULL ? -1 : sent_by(sources[i], places[i]);
    CHECK(in[kMost / 2 - i] == wanted, "%s: alltoallv, place %d holds %d", what, i, in[kMost / 2 - i]);
  }
  clear(in);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, comm);
  for (i = 0; i < indegree; ++i)
    CHECK(in[i] == (sources[i] == MPI_PROC_NULL ? -1 : sources[i]), "%s: allgather, place %d holds %d", what,
          i, in[i]);
  clear(in);
  MPI_Neighbor_allgatherv(&rank, 1, MPI_INT, in, counts_in, starts_in, MPI_INT, comm);
  for (i = 0; i < indegree; ++i)
    CHECK(in[kMost / 2 - i] == (sources[i] == MPI_PROC_NULL ? -1 : sources[i]), "%s: allgatherv, place %d",
          what, i);
  MPI_Neighbor_alltoallv(out, zeros, zeros, MPI_INT, in, zeros, zeros, MPI_INT, comm);
}

enum { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, FORMS };
static const char* const kForms[] = {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};

/* Blocks of the varied forms lie in reverse order, with an element between them. */
typedef struct {
  Data data;
  int counts[kMost], places[kMost];
  MPI_Aint bytes[kMost];
  MPI_Datatype types[kMost];
} Blocks;

static Blocks make_blocks(int n, int count, MPI_Datatype type, int are_apart) {
  Blocks made = {.data = make_data(n * (count + are_apart), type)};
  for (int i = 0; i < n; ++i) {
    made.counts[i] = count;
    made.places[i] = are_apart ? (n - 1 - i) * (count + 1) : i * count;
    made.bytes[i] = (MPI_Aint)sizeof(int) * made.places[i] * made.data.stride;
    made.types[i] = type;
  }
  return made;
}

/* Calls it (NOW), begins it (LATER) or makes it (AGAIN). */
static void begin(int form, int mode, int count, Blocks* out, Blocks* in, MPI_Request* request) {
#define EXCHANGE(blocking, nonblocking, persistent, ...)                      \
  do {                                                                        \
    if (mode == NOW) blocking(__VA_ARGS__, comm);                             \
    if (mode == LATER) nonblocking(__VA_ARGS__, comm, request);               \
    if (mode == AGAIN) persistent(__VA_ARGS__, comm, MPI_INFO_NULL, request); \
  } while (0)
  int *const send = out->data.at, *const recv = in->data.at;
  const MPI_Datatype sent = out->data.type, got = in->data.type;
  if (form == ALLGATHER)
    EXCHANGE(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, MPI_Neighbor_allgather_init, send, count, sent,
             recv, count, got);
  if (form == ALLGATHERV)
    EXCHANGE(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, MPI_Neighbor_allgatherv_init, send, count,
             sent, recv, in->counts, in->places, got);
  if (form == ALLTOALL)
    EXCHANGE(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall_init, send, count, sent,
             recv, count, got);
  if (form == ALLTOALLV)
    EXCHANGE(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, MPI_Neighbor_alltoallv_init, send, out->counts,
             out->places, sent, recv, in->counts, in->places, got);
  if (form == ALLTOALLW)
    EXCHANGE(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw_init, send, out->counts,
             out->bytes, out->types, recv, in->counts, in->bytes, in->types);
#undef EXCHANGE
}

static void long_form(int form, int mode, int count, MPI_Datatype type, const int* places, const char* what) {
  const int are_apart = form != ALLGATHER && form != ALLTOALL, gathers = form <= ALLGATHERV;
  Blocks out = make_blocks(gathers ? 1 : outdegree, count, type, 0);
  Blocks in = make_blocks(indegree, count, type, are_apart);
  MPI_Request request = MPI_REQUEST_NULL;
  if (mode == AGAIN) begin(form, mode, count, &out, &in, &request);
  for (int round = 0; round < (mode == AGAIN ? 2 : 1); ++round) {
    for (int i = 0; i < out.data.count; ++i)
      set(out.data, i, token(check_rank, i / count, i % count + round));
    for (int i = 0; i < in.data.count; ++i) set(in.data, i, UNSET);
    if (mode != AGAIN) begin(form, mode, count, &out, &in, &request);
    if (mode == AGAIN) MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < indegree; ++i)
      for (int k = 0; k < count; ++k) {
        const int place = gathers ? 0 : places[i], is = get(in.data, in.places[i] + k);
        const int wanted = sources[i] == MPI_PROC_NULL ? UNSET : token(sources[i], place, k + round);
        CHECK(is == wanted, "%s: %s, mode %d, %d elements: element %d from place %d is %d, not %d", what,
              kForms[form], mode, count, k, i, is, wanted);
      }
    for (int i = 0; i < indegree && are_apart; ++i)
      CHECK(get(in.data, in.places[i] + count) == UNSET, "%s: %s wrote behind a block", what, kForms[form]);
  }
  if (mode == AGAIN) MPI_Request_free(&request);
  drop_data(out.data);
  drop_data(in.data);
}

/* So long that they go by themselves, from buffer to buffer where they can. */
static void long_blocks(int longest, const int* places, const char* what) {
  MPI_Datatype gappy = gappy_int();
  for (int form = 0; form < FORMS; ++form)
    for (int mode = NOW; mode < MODES; ++mode) {
      long_form(form, mode, 1000, gappy, places, what);
      long_form(form, mode, 5000, MPI_INT, places, what);
      long_form(form, mode, 5000, gappy, places, what);
      if (mode == form % MODES) long_form(form, mode, longest, MPI_INT, places, what);
    }
  MPI_Type_free(&gappy);
}

static void grid(int n, const int* dims, int periodic, const char* what) {
  int periods[3] = {periodic, periodic, periodic}, places[kMost], i;
  MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, 0, &comm);
  if (comm == MPI_COMM_NULL) return;
  indegree = outdegree = 2 * n;
  for (i = 0; i < n; ++i) {
    /* What comes from below was sent upwards: also where both neighbors are the same process. */
    MPI_Cart_shift(comm, i, 1, &sources[2 * i], &sources[2 * i + 1]);
    places[2 * i] = 2 * i + 1;
    places[2 * i + 1] = 2 * i;
  }
  all_forms(places, what);
  long_blocks(n == 1 && periodic ? 100000 : 7001, places, what);
  MPI_Comm_free(&comm);
}

/* Two edges from every rank to the next, one to the one before. */
static void repeated_edges(void) {
  const int left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size;
  const int places[] = {0, 1, 2};
  sources[0] = sources[1] = left;
  sources[2] = right;
  destinations[0] = destinations[1] = right;
  destinations[2] = left;
  indegree = outdegree = 3;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, indegree, sources, MPI_UNWEIGHTED, outdegree, destinations,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  all_forms(places, "repeated edges");
  long_blocks(30000, places, "repeated edges");
  MPI_Comm_free(&comm);
}

static void no_neighbors(void) {
  indegree = outdegree = 0;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                 MPI_INFO_NULL, 0, &comm);
  all_forms(NULL, "no neighbors");
  MPI_Comm_free(&comm);
}

static void no_topology(void) {
  int in = 0, out = 0, error;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  error = MPI_Neighbor_allgather(&out, 1, MPI_INT, &in, 1, MPI_INT, MPI_COMM_SELF);
  CHECK(error == MPI_ERR_TOPOLOGY, "%d", error);
}

int main(int argc, char** argv) {
  int one[1], two[2] = {0, 0}, thin[2];
  check_start(&argc, &argv);
  one[0] = thin[0] = check_size;
  thin[1] = 1;
  MPI_Dims_create(check_size, 2, two);
  grid(1, one, 1, "ring");
  grid(1, one, 0, "line");
  grid(2, two, 1, "torus");
  grid(2, two, 0, "sheet");
  grid(2, thin, 1, "ring of rings of one");
  repeated_edges();
  no_neighbors();
  no_topology();
  arrays_of_the_call();
  return check_end();
}
