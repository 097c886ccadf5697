/* Wrong arguments of collectives: arrays of the v- and w-forms in all three modes, MPI_IN_PLACE where it
 * means nothing, buffers that are not there.  Each gives its error class and a sentence that names the
 * argument, on the rank that is wrong, before anything is sent.  Also calls and callbacks that must name
 * themselves. ranks: 1 3 variants: none
 */
#include <stdarg.h>
#include <string.h>

#include "check.h"

static MPI_Comm heard_comm;
static int heard_code, heard_times;
static char heard_call[64];

static void hear(MPI_Comm* comm, int* code, ...) {
  va_list more;
  va_start(more, code);
  snprintf(heard_call, sizeof heard_call, "%s", va_arg(more, const char*));
  va_end(more);
  heard_comm = *comm;
  heard_code = *code;
  ++heard_times;
}

static void expect(int code, int wanted, MPI_Comm comm, const char* words, int line) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0, error_class = -1;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == wanted, "line %d: class %d, not %d", line, error_class, wanted);
  CHECK(heard_times == 1 && heard_comm == comm, "line %d: the handler heard %d times", line, heard_times);
  MPI_Error_string(code, text, &length);
  CHECK(strstr(text, words) != NULL, "line %d: '%s' lacks '%s'", line, text, words);
  heard_times = 0;
}

#define EXPECT(call, wanted, words) expect(call, wanted, comm, words, __LINE__)

enum { RANKS = 8 };

static void vectors(MPI_Comm comm, int ranks) {
  int in[RANKS] = {0}, out[RANKS], good[RANKS], bad[RANKS], at[RANKS];
  MPI_Request request = MPI_REQUEST_NULL;
  char counts_bad[40];
  const int last = ranks - 1;
  for (int i = 0; i < RANKS; ++i) good[i] = bad[i] = 1, at[i] = i;
  bad[last] = -4;
  snprintf(counts_bad, sizeof counts_bad, "recvcounts[%d] is -4", last);
  EXPECT(MPI_Allgatherv(in, 1, MPI_INT, out, NULL, at, MPI_INT, comm), MPI_ERR_ARG, "recvcounts is a null");
  EXPECT(MPI_Allgatherv(in, 1, MPI_INT, out, good, NULL, MPI_INT, comm), MPI_ERR_ARG, "displs is a null");
  EXPECT(MPI_Allgatherv(in, 1, MPI_INT, out, bad, at, MPI_INT, comm), MPI_ERR_COUNT, counts_bad);
  EXPECT(MPI_Allgatherv(in, 1, MPI_INT, NULL, good, at, MPI_INT, comm), MPI_ERR_BUFFER, "recvbuf is a null");
  EXPECT(MPI_Allgatherv(in, 1, MPI_INT, MPI_IN_PLACE, good, at, MPI_INT, comm), MPI_ERR_BUFFER,
         "recvbuf is MPI_IN_PLACE");
  EXPECT(MPI_Iallgatherv(in, 1, MPI_INT, out, bad, at, MPI_INT, comm, &request), MPI_ERR_COUNT, counts_bad);
  EXPECT(MPI_Allgatherv_init(in, 1, MPI_INT, out, bad, at, MPI_INT, comm, MPI_INFO_NULL, &request),
         MPI_ERR_COUNT, counts_bad);
  EXPECT(MPI_Alltoallv(in, NULL, at, MPI_INT, out, good, at, MPI_INT, comm), MPI_ERR_ARG,
         "sendcounts is a null");
  EXPECT(MPI_Alltoallv(in, good, NULL, MPI_INT, out, good, at, MPI_INT, comm), MPI_ERR_ARG,
         "sdispls is a null");
  EXPECT(MPI_Alltoallv(in, good, at, MPI_INT, out, good, NULL, MPI_INT, comm), MPI_ERR_ARG,
         "rdispls is a null");
  EXPECT(MPI_Ialltoallv(in, good, at, MPI_INT, out, bad, at, MPI_INT, comm, &request), MPI_ERR_COUNT,
         counts_bad);
  EXPECT(MPI_Alltoallv(NULL, good, at, MPI_INT, out, good, at, MPI_INT, comm), MPI_ERR_BUFFER,
         "sendbuf is a null");
  EXPECT(MPI_Reduce_scatter(in, out, NULL, MPI_INT, MPI_SUM, comm), MPI_ERR_ARG, "recvcounts is a null");
  EXPECT(MPI_Reduce_scatter(in, out, bad, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT, counts_bad);
  EXPECT(MPI_Ireduce_scatter(in, out, bad, MPI_INT, MPI_SUM, comm, &request), MPI_ERR_COUNT, counts_bad);
  CHECK(request == MPI_REQUEST_NULL);
  /* A rank that gets nothing needs no buffer. */
  int only_last[RANKS] = {0}, rank_here;
  only_last[last] = 1;
  MPI_Comm_rank(comm, &rank_here);
  CHECK(MPI_Reduce_scatter(in, rank_here == last ? out : NULL, only_last, MPI_INT, MPI_SUM, comm) ==
        MPI_SUCCESS);
  /* At the root only, and nothing is looked at elsewhere. */
  int rank;
  MPI_Comm_rank(comm, &rank);
  EXPECT(MPI_Gatherv(in, 1, MPI_INT, out, bad, at, MPI_INT, rank, comm), MPI_ERR_COUNT, counts_bad);
  EXPECT(MPI_Gatherv(in, 1, MPI_INT, out, good, NULL, MPI_INT, rank, comm), MPI_ERR_ARG, "displs is a null");
  EXPECT(MPI_Scatterv(in, bad, at, MPI_INT, out, 1, MPI_INT, rank, comm), MPI_ERR_COUNT, "sendcounts[");
  EXPECT(MPI_Iscatterv(in, NULL, at, MPI_INT, out, 1, MPI_INT, rank, comm, &request), MPI_ERR_ARG,
         "sendcounts is");
  EXPECT(MPI_Scatterv(MPI_IN_PLACE, good, at, MPI_INT, out, 1, MPI_INT, rank, comm), MPI_ERR_BUFFER,
         "sendbuf is MPI_IN_PLACE");
}

static void mixed(MPI_Comm comm, int ranks) {
  int in[RANKS] = {0}, out[RANKS], good[RANKS], bad[RANKS], at[RANKS];
  MPI_Aint far[RANKS];
  MPI_Datatype ints[RANKS], null[RANKS], freed[RANKS], raw[RANKS];
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype pair;
  for (int i = 0; i < RANKS; ++i) {
    good[i] = bad[i] = 1;
    far[i] = at[i] = 4 * i;
    ints[i] = null[i] = freed[i] = raw[i] = MPI_INT;
  }
  bad[0] = -1;
  null[ranks - 1] = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  raw[0] = pair;
  EXPECT(MPI_Alltoallw(in, good, at, raw, out, good, at, ints, comm), MPI_ERR_TYPE,
         "sendtypes[0] is a datatype that is not");
  freed[0] = pair;
  MPI_Type_free(&pair);
  EXPECT(MPI_Alltoallw(in, good, at, freed, out, good, at, ints, comm), MPI_ERR_TYPE, "sendtypes[0]");
  EXPECT(MPI_Alltoallw(in, good, at, ints, out, good, at, null, comm), MPI_ERR_TYPE, "is MPI_DATATYPE_NULL");
  EXPECT(MPI_Alltoallw(in, good, at, NULL, out, good, at, ints, comm), MPI_ERR_ARG, "sendtypes is a null");
  EXPECT(MPI_Alltoallw(in, good, at, ints, out, bad, at, ints, comm), MPI_ERR_COUNT, "recvcounts[0] is -1");
  EXPECT(MPI_Alltoallw(in, good, NULL, ints, out, good, at, ints, comm), MPI_ERR_ARG, "sdispls is a null");
  EXPECT(MPI_Alltoallw(in, good, at, ints, MPI_IN_PLACE, good, at, ints, comm), MPI_ERR_BUFFER,
         "recvbuf is MPI_IN");
  EXPECT(MPI_Ialltoallw(in, good, at, ints, out, good, at, null, comm, &request), MPI_ERR_TYPE, "recvtypes[");
  EXPECT(MPI_Alltoallw_init(in, bad, at, ints, out, good, at, ints, comm, MPI_INFO_NULL, &request),
         MPI_ERR_COUNT, "sendcounts[0] is -1");
  /* Neighbors: a ring has two. */
  const int dims = ranks, periodic = 1;
  MPI_Comm world = comm, ring;
  MPI_Cart_create(world, 1, &dims, &periodic, 0, &ring);
  comm = ring;
  EXPECT(MPI_Neighbor_alltoallw(in, good, far, null, out, bad, far, ints, comm),
         ranks <= 2 ? MPI_ERR_TYPE : MPI_ERR_COUNT, ranks <= 2 ? "sendtypes[" : "recvcounts[0] is -1");
  EXPECT(MPI_Neighbor_alltoallv(in, good, NULL, MPI_INT, out, good, at, MPI_INT, comm), MPI_ERR_ARG,
         "sdispls is");
  EXPECT(MPI_Neighbor_allgatherv(in, 1, MPI_INT, out, bad, at, MPI_INT, comm), MPI_ERR_COUNT,
         "recvcounts[0] is");
  EXPECT(MPI_Ineighbor_allgatherv(in, 1, MPI_INT, out, bad, at, MPI_INT, comm, &request), MPI_ERR_COUNT,
         "recvcounts[0]");
  EXPECT(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, comm), MPI_ERR_BUFFER,
         "sendbuf is MPI_IN");
  CHECK(request == MPI_REQUEST_NULL);
  MPI_Comm_free(&ring);
}

static void in_place(MPI_Comm comm, int rank, int ranks) {
  int in[RANKS] = {0}, out[RANKS];
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, rank, 0, comm), MPI_ERR_BUFFER, "buf is MPI_IN_PLACE");
  EXPECT(MPI_Isend(MPI_IN_PLACE, 1, MPI_INT, rank, 0, comm, &request), MPI_ERR_BUFFER, "buf is MPI_IN_PLACE");
  EXPECT(MPI_Recv(MPI_IN_PLACE, 1, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_BUFFER,
         "buf is MPI_IN");
  EXPECT(MPI_Irecv(MPI_IN_PLACE, 1, MPI_INT, rank, 0, comm, &request), MPI_ERR_BUFFER, "buf is MPI_IN_PLACE");
  EXPECT(MPI_Sendrecv(in, 1, MPI_INT, rank, 0, MPI_IN_PLACE, 1, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE),
         MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE");
  EXPECT(MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, rank, comm), MPI_ERR_BUFFER,
         "sendbuf is MPI_IN");
  EXPECT(MPI_Allreduce(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER,
         "recvbuf is MPI_IN_PLACE");
  EXPECT(MPI_Allreduce(NULL, out, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "sendbuf is a null");
  EXPECT(MPI_Scan(NULL, out, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "sendbuf is a null");
  EXPECT(MPI_Reduce(in, NULL, 1, MPI_INT, MPI_SUM, rank, comm), MPI_ERR_BUFFER, "recvbuf is a null");
  EXPECT(MPI_Reduce(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, rank, comm), MPI_ERR_BUFFER,
         "recvbuf is MPI_IN_PLACE");
  EXPECT(MPI_Reduce(NULL, out, 1, MPI_INT, MPI_SUM, rank, comm), MPI_ERR_BUFFER, "sendbuf is a null");
  if (ranks > 1) {
    const int other = (rank + 1) % ranks;
    EXPECT(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, other, comm), MPI_ERR_BUFFER,
           "sendbuf is MPI_IN");
    EXPECT(MPI_Scatter(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, other, comm), MPI_ERR_BUFFER,
           "recvbuf is MPI_IN");
    EXPECT(MPI_Reduce(MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM, other, comm), MPI_ERR_BUFFER,
           "sendbuf is MPI_IN");
    EXPECT(MPI_Ireduce(MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM, other, comm, &request), MPI_ERR_BUFFER,
           "sendbuf is");
  }
  CHECK(request == MPI_REQUEST_NULL);
}

/* The same wrong counts everywhere: only what a rank sends itself shows it. */
static void own_lengths(MPI_Comm comm) {
  int in[2 * RANKS] = {0}, out[2 * RANKS], ones[RANKS], twos[RANKS], at[RANKS];
  MPI_Datatype ints[RANKS];
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < RANKS; ++i) ones[i] = 1, twos[i] = 2, at[i] = 0, ints[i] = MPI_INT;
  EXPECT(MPI_Allgather(in, 1, MPI_INT, out, 2, MPI_INT, comm), MPI_ERR_COUNT, "sends itself 4 bytes");
  EXPECT(MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_INT, comm), MPI_ERR_TRUNCATE, "sends itself 8 bytes");
  EXPECT(MPI_Allgatherv(in, 1, MPI_INT, out, twos, at, MPI_INT, comm), MPI_ERR_COUNT, "sends itself 4");
  EXPECT(MPI_Alltoall(in, 2, MPI_INT, out, 1, MPI_INT, comm), MPI_ERR_TRUNCATE, "sends itself 8 bytes");
  EXPECT(MPI_Alltoallv(in, ones, at, MPI_INT, out, twos, at, MPI_INT, comm), MPI_ERR_COUNT, "sends itself 4");
  EXPECT(MPI_Alltoallw(in, ones, at, ints, out, twos, at, ints, comm), MPI_ERR_COUNT, "sends itself 4");
  MPI_Iallgather(in, 1, MPI_INT, out, 2, MPI_INT, comm, &request);
  CHECK(request != MPI_REQUEST_NULL);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS && heard_times == 1);
  heard_times = 0;
}

/* With a root, which alone has that error: the only rank of `comm`. */
static void own_lengths_at_root(MPI_Comm comm) {
  int in[2] = {0}, out[2], at[1] = {0}, twos[1] = {2};
  EXPECT(MPI_Gather(in, 1, MPI_INT, out, 2, MPI_INT, 0, comm), MPI_ERR_COUNT,
         "sends itself 4 bytes and is to receive 8");
  EXPECT(MPI_Gather(in, 2, MPI_INT, out, 1, MPI_INT, 0, comm), MPI_ERR_TRUNCATE, "sends itself 8 bytes");
  EXPECT(MPI_Gatherv(in, 1, MPI_INT, out, twos, at, MPI_INT, 0, comm), MPI_ERR_COUNT, "sends itself 4");
  EXPECT(MPI_Scatter(in, 1, MPI_INT, out, 2, MPI_INT, 0, comm), MPI_ERR_COUNT, "sends itself 4 bytes");
  EXPECT(MPI_Scatterv(in, twos, at, MPI_INT, out, 1, MPI_INT, 0, comm), MPI_ERR_TRUNCATE, "sends itself 8");
}

static int refuse_to_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
  return MPI_ERR_OTHER;
}

static int refuse_query(void* state, MPI_Status* status) { return (void)state, (void)status, MPI_ERR_OTHER; }
static int refuse_free(void* state) { return (void)state, MPI_ERR_OTHER; }
static int agree_to_free(void* state) { return (void)state, MPI_SUCCESS; }
static int refuse_cancel(void* state, int is_complete) {
  return (void)state, (void)is_complete, MPI_ERR_OTHER;
}
static int answer_query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_cancelled(status, 0);
  return MPI_Status_set_elements(status, MPI_BYTE, 0);
}

static void names_of_callbacks(void) {
  MPI_Comm comm = MPI_COMM_SELF;
  MPI_Request request;
  MPI_Grequest_start(refuse_query, agree_to_free, refuse_cancel, NULL, &request);
  EXPECT(MPI_Cancel(&request), MPI_ERR_OTHER, "the cancel function of the generalized request answered");
  MPI_Grequest_complete(request);
  EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER, "the query function of the generalized");
  MPI_Grequest_start(answer_query, refuse_free, refuse_cancel, NULL, &request);
  MPI_Grequest_complete(request);
  EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER,
         "the free function of the generalized request");
}

static void names(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Count size;
  int keyval;
  MPI_Comm_create_keyval(refuse_to_copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(comm, keyval, NULL);
  EXPECT(MPI_Comm_dup(comm, &copy), MPI_ERR_OTHER, "copy function of keyval");
  MPI_Comm_delete_attr(comm, keyval);
  MPI_Comm_free_keyval(&keyval);
  comm = MPI_COMM_SELF;
  EXPECT(MPI_Type_size_x(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE, "datatype is MPI_DATATYPE_NULL");
  CHECK(strcmp(heard_call, "MPI_Type_size_x") == 0, "the handler heard of %s", heard_call);
  EXPECT(MPI_Type_get_extent_x(MPI_DATATYPE_NULL, &size, &size), MPI_ERR_TYPE,
         "datatype is MPI_DATATYPE_NULL");
  CHECK(strcmp(heard_call, "MPI_Type_get_extent_x") == 0, "the handler heard of %s", heard_call);
}

/* Programs written for MPI 3 set the handler of MPI_COMM_WORLD only. */
static void without_handle(void) {
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Datatype none = MPI_DATATYPE_NULL;
  EXPECT(MPI_Type_commit(&none), MPI_ERR_TYPE, "is MPI_DATATYPE_NULL");
}

static void sessions(void) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Info info;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_LOTS");
  const int code = MPI_Session_init(info, MPI_ERRORS_RETURN, &session);
  CHECK(code != MPI_SUCCESS && session == MPI_SESSION_NULL);
  MPI_Error_string(code, text, &length);
  CHECK(strstr(text, "MPI_THREAD_LOTS") != NULL, "'%s'", text);
  MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  MPI_Errhandler listener;
  check_start(&argc, &argv);
  MPI_Comm_create_errhandler(hear, &listener);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, listener);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, listener);
  without_handle();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, listener);
  vectors(comm, check_size);
  mixed(comm, check_size);
  in_place(comm, check_rank, check_size);
  own_lengths(comm);
  own_lengths_at_root(MPI_COMM_SELF);
  names(comm);
  names_of_callbacks();
  sessions();
  MPI_Comm_free(&comm);
  MPI_Errhandler_free(&listener);
  return check_end();
}
