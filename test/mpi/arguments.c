/* Wrong arguments: each gives its error class, calls the handler of the right object, and says what is wrong.
 * Also operators that a datatype does not have, missing arrays, outputs that do not fit an int, handles that
 * were freed, and the integers of handles.
 * ranks: 1 3
 * variants: none
 */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

static MPI_Comm heard_comm;
static int heard_code, heard_times;

static void hear(MPI_Comm* comm, int* code, ...) {
  heard_comm = *comm;
  heard_code = *code;
  ++heard_times;
}

static int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/* The error must have reached the handler of `comm` once, with this class, and its text must contain `words`.
 */
static void expect(int code, int wanted, MPI_Comm comm, const char* words, int line) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  CHECK(class_of(code) == wanted, "line %d: class %d, not %d", line, class_of(code), wanted);
  CHECK(heard_times == 1 && heard_code == code, "line %d: the handler heard %d times of %d", line,
        heard_times, heard_code);
  CHECK(heard_comm == comm, "line %d: the handler of another communicator heard", line);
  MPI_Error_string(code, text, &length);
  CHECK(length == (int)strlen(text) && strstr(text, words), "line %d: '%s' lacks '%s'", line, text, words);
  heard_times = 0;
  heard_comm = MPI_COMM_NULL;
}

#define EXPECT(call, wanted, comm, words) expect(call, wanted, comm, words, __LINE__)

static void point_to_point(MPI_Comm comm) {
  int value = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype uncommitted;
  MPI_Type_contiguous(2, MPI_INT, &uncommitted);
  EXPECT(MPI_Send(&value, -1, MPI_INT, 0, 0, comm), MPI_ERR_COUNT, comm, "count is -1");
  EXPECT(MPI_Send_c(&value, -5000000000, MPI_INT, 0, 0, comm), MPI_ERR_COUNT, comm, "count is -5000000000");
  EXPECT(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, comm), MPI_ERR_TYPE, comm, "datatype");
  EXPECT(MPI_Send(&value, 1, uncommitted, 0, 0, comm), MPI_ERR_TYPE, comm, "MPI_Type_commit");
  EXPECT(MPI_Send(&value, 1, MPI_INT, check_size, 0, comm), MPI_ERR_RANK, comm,
         check_size > 1 ? "has the ranks 0 to" : "has only rank 0");
  EXPECT(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm), MPI_ERR_RANK, comm, "dest is -1");
  EXPECT(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, comm), MPI_ERR_TAG, comm, "tag is -2");
  EXPECT(MPI_Send(NULL, 1, MPI_INT, 0, 0, comm), MPI_ERR_BUFFER, comm, "null pointer");
  EXPECT(MPI_Recv(&value, 1, MPI_INT, -7, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_RANK, comm, "source is -7");
  EXPECT(MPI_Recv(&value, 1, MPI_INT, 0, -7, comm, MPI_STATUS_IGNORE), MPI_ERR_TAG, comm, "tag is -7");
  EXPECT(MPI_Isend(&value, 1, MPI_INT, 0, 0, comm, NULL), MPI_ERR_ARG, comm, "request is a null pointer");
  EXPECT(MPI_Irecv(&value, -1, MPI_INT, 0, 0, comm, &request), MPI_ERR_COUNT, comm, "count");
  EXPECT(MPI_Sendrecv(&value, 1, MPI_INT, 0, 0, &value, 1, MPI_INT, 0, -9, comm, MPI_STATUS_IGNORE),
         MPI_ERR_TAG, comm, "recvtag is -9");
  EXPECT(MPI_Probe(check_size + 1, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_RANK, comm, "source");
  CHECK(request == MPI_REQUEST_NULL);
  MPI_Type_free(&uncommitted);
  /* What is allowed: nothing to send, and nobody to send to. */
  CHECK(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm) == MPI_SUCCESS);
  CHECK(MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* Starting what cannot be started loses nothing of the round that is under way. */
static void starts(MPI_Comm comm) {
  int in = 1, out = 0;
  MPI_Request requests[3];
  MPI_Recv_init(&out, 1, MPI_INT, check_rank, 3, comm, &requests[0]);
  MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[1]);
  /* One that is over when its call returns, as a barrier may be, belongs to no communicator. */
  MPI_Irecv(&out, 1, MPI_INT, check_rank, 4, comm, &requests[2]);
  EXPECT(MPI_Start(&requests[2]), MPI_ERR_REQUEST, comm, "not persistent");
  MPI_Send(&in, 1, MPI_INT, check_rank, 4, comm);
  MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2; ++i) {
      CHECK(MPI_Start(&requests[i]) == MPI_SUCCESS);
      EXPECT(MPI_Start(&requests[i]), MPI_ERR_REQUEST, comm, "started before");
    }
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    CHECK(out == check_size, "round %d: %d", round, out);
    MPI_Send(&in, 1, MPI_INT, check_rank, 3, comm);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void collectives(MPI_Comm comm) {
  int in[2] = {1, 2}, out[64];
  MPI_Op op = MPI_OP_NULL;
  EXPECT(MPI_Bcast(in, 1, MPI_INT, check_size, comm), MPI_ERR_ROOT, comm,
         check_size > 1 ? "it must be a rank from 0 to" : "it must be rank 0");
  EXPECT(MPI_Bcast(in, 1, MPI_INT, MPI_PROC_NULL, comm), MPI_ERR_ROOT, comm, "root is -3");
  EXPECT(MPI_Allreduce(in, out, 1, MPI_INT, op, comm), MPI_ERR_OP, comm, "op");
  EXPECT(MPI_Allgather(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm), MPI_ERR_BUFFER, comm, "MPI_IN_PLACE");
  EXPECT(MPI_Gather(in, -1, MPI_INT, out, 1, MPI_INT, 0, comm), MPI_ERR_COUNT, comm, "sendcount is -1");
  EXPECT(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER, comm, "buffer is MPI_IN_PLACE");
  EXPECT(MPI_Ibarrier(comm, NULL), MPI_ERR_ARG, comm, "request");
  /* Arguments that mean nothing on this rank may be anything. */
  if (check_rank == 0)
    CHECK(MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 0, comm) == MPI_SUCCESS);
  else
    CHECK(MPI_Gather(in, 1, MPI_INT, NULL, -3, MPI_DATATYPE_NULL, 0, comm) == MPI_SUCCESS);
  if (check_rank == 0)
    CHECK(MPI_Scatter(out, 1, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, 0, comm) == MPI_SUCCESS);
  else
    CHECK(MPI_Scatter(NULL, -1, MPI_DATATYPE_NULL, in, 1, MPI_INT, 0, comm) == MPI_SUCCESS);
  CHECK(MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, out, 1, MPI_INT, comm) == MPI_SUCCESS);
  CHECK(heard_times == 0);
}

/* An operator that the standard does not define for the datatype, in each of the reductions' three modes. */
static void operators(MPI_Comm comm) {
  double in[8] = {0}, out[8];
  const int counts[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  EXPECT(MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_BAND, comm), MPI_ERR_OP, comm, "MPI_BAND is not defined");
  EXPECT(MPI_Allreduce(in, out, 1, MPI_BYTE, MPI_MAX, comm), MPI_ERR_OP, comm, "for MPI_BYTE");
  EXPECT(MPI_Allreduce(in, out, 1, MPI_INT, MPI_MINLOC, comm), MPI_ERR_OP, comm, "MPI_MINLOC");
  EXPECT(MPI_Allreduce(in, out, 1, pair, MPI_SUM, comm), MPI_ERR_OP, comm, "a derived datatype");
  EXPECT(MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_BXOR, 0, comm), MPI_ERR_OP, comm, "MPI_BXOR");
  EXPECT(MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_BOR, comm), MPI_ERR_OP, comm, "MPI_BOR");
  EXPECT(MPI_Exscan(in, out, 1, MPI_DOUBLE, MPI_BOR, comm), MPI_ERR_OP, comm, "MPI_BOR");
  EXPECT(MPI_Reduce_scatter_block(in, out, 1, MPI_DOUBLE, MPI_BOR, comm), MPI_ERR_OP, comm, "MPI_BOR");
  EXPECT(MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_BOR, comm), MPI_ERR_OP, comm, "MPI_BOR");
  EXPECT(MPI_Iallreduce(in, out, 1, MPI_DOUBLE, MPI_BOR, comm, &request), MPI_ERR_OP, comm, "MPI_BOR");
  EXPECT(MPI_Ireduce(in, out, 1, MPI_BYTE, MPI_SUM, 0, comm, &request), MPI_ERR_OP, comm, "MPI_SUM");
  EXPECT(MPI_Allreduce_init(in, out, 1, MPI_DOUBLE, MPI_BOR, comm, MPI_INFO_NULL, &request), MPI_ERR_OP, comm,
         "MPI_BOR");
  EXPECT(MPI_Reduce_local(MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, MPI_COMM_SELF,
         "inbuf is MPI_IN_PLACE");
  EXPECT(MPI_Reduce_local(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, MPI_COMM_SELF,
         "inoutbuf is MPI_IN_PLACE");
  CHECK(request == MPI_REQUEST_NULL);
  MPI_Type_free(&pair);
}

/* Sending from the memory that is received into, where the whole of it is meant. */
static void aliases(MPI_Comm comm) {
  int both[64] = {0}, zeros[8] = {0};
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT(MPI_Allreduce(both, both, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, comm, "the same memory");
  EXPECT(MPI_Scan(both, both, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, comm, "the same memory");
  EXPECT(MPI_Allgather(both, 1, MPI_INT, both, 1, MPI_INT, comm), MPI_ERR_BUFFER, comm, "MPI_IN_PLACE");
  EXPECT(MPI_Ialltoall(both, 1, MPI_INT, both, 1, MPI_INT, comm, &request), MPI_ERR_BUFFER, comm, "recvbuf");
  if (check_rank == 0) {
    EXPECT(MPI_Reduce(both, both, 1, MPI_INT, MPI_SUM, 0, comm), MPI_ERR_BUFFER, comm, "the same memory");
    EXPECT(MPI_Gather(both, 1, MPI_INT, both, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER, comm, "the same memory");
    EXPECT(MPI_Scatter(both, 1, MPI_INT, both, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER, comm, "the same memory");
  }
  /* What is allowed: no elements, buffers that mean nothing here, and lengths that vary. */
  CHECK(MPI_Allreduce(both, both, 0, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  CHECK(MPI_Reduce(both, check_rank == 0 ? both + 1 : both, 1, MPI_INT, MPI_SUM, 0, comm) == MPI_SUCCESS);
  CHECK(MPI_Alltoallv(both, zeros, zeros, MPI_INT, both, zeros, zeros, MPI_INT, comm) == MPI_SUCCESS);
  CHECK(heard_times == 0);
}

/* Arrays that are not there though their length is not 0, and functions that are not there. */
static void arrays(MPI_Comm comm) {
  MPI_Group group, made;
  MPI_Comm grid;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Errhandler handler;
  int ranks[1] = {0}, dims[1] = {1};
  MPI_Comm_group(comm, &group);
  EXPECT(MPI_Group_translate_ranks(group, 1, NULL, group, ranks), MPI_ERR_ARG, MPI_COMM_SELF, "ranks1");
  EXPECT(MPI_Group_translate_ranks(group, 1, ranks, group, NULL), MPI_ERR_ARG, MPI_COMM_SELF, "ranks2");
  EXPECT(MPI_Group_incl(group, 1, NULL, &made), MPI_ERR_ARG, MPI_COMM_SELF, "ranks is a null pointer");
  EXPECT(MPI_Cart_create(comm, 1, NULL, dims, 0, &grid), MPI_ERR_ARG, comm, "dims is a null pointer");
  EXPECT(MPI_Type_indexed(2, NULL, dims, MPI_INT, &type), MPI_ERR_ARG, MPI_COMM_SELF, "blocklengths");
  EXPECT(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG, MPI_COMM_SELF, "user_fn is a null pointer");
  EXPECT(MPI_Comm_create_errhandler(NULL, &handler), MPI_ERR_ARG, MPI_COMM_SELF, "comm_errhandler_fn");
  EXPECT(MPI_Type_create_struct(1, dims, NULL, NULL, &type), MPI_ERR_ARG, MPI_COMM_SELF, "displacements");
  CHECK(MPI_Group_translate_ranks(group, 0, NULL, group, NULL) == MPI_SUCCESS);
  CHECK(MPI_Type_indexed(0, NULL, NULL, MPI_INT, &type) == MPI_SUCCESS);
  MPI_Type_free(&type);
  MPI_Group_free(&group);
}

/* Errors that belong to no communicator go to MPI_COMM_SELF. */
static void without_communicator(void) {
  int rank = 0, flag = 0;
  MPI_Comm null_comm = MPI_COMM_NULL, freed;
  MPI_Datatype type;
  MPI_Request bad = (MPI_Request)MPI_COMM_WORLD;
  EXPECT(MPI_Comm_rank(MPI_COMM_NULL, &rank), MPI_ERR_COMM, MPI_COMM_SELF, "comm is MPI_COMM_NULL");
  EXPECT(MPI_Comm_rank(0, &rank), MPI_ERR_COMM, MPI_COMM_SELF, "never set");
  EXPECT(MPI_Comm_rank((MPI_Comm)MPI_INT, &rank), MPI_ERR_COMM, MPI_COMM_SELF, "is not a communicator");
  EXPECT(MPI_Comm_free(&null_comm), MPI_ERR_COMM, MPI_COMM_SELF, "comm");
  EXPECT(MPI_Type_size(MPI_DATATYPE_NULL, &rank), MPI_ERR_TYPE, MPI_COMM_SELF, "datatype");
  EXPECT(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT, MPI_COMM_SELF, "count is -1");
  EXPECT(MPI_Group_rank(MPI_GROUP_NULL, &rank), MPI_ERR_GROUP, MPI_COMM_SELF, "group");
  EXPECT(MPI_Wait(NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, MPI_COMM_SELF, "request is a null pointer");
  EXPECT(MPI_Wait(&bad, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, MPI_COMM_SELF, "request");
  EXPECT(MPI_Waitall(-1, NULL, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, MPI_COMM_SELF, "count is -1");
  EXPECT(MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG, MPI_COMM_SELF, "array_of_requests");
  EXPECT(MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &flag), MPI_ERR_ARG, MPI_COMM_SELF, "status");
  MPI_Status unset;
  memset(&unset, 0xff, sizeof unset);
  EXPECT(MPI_Get_count(&unset, MPI_INT, &flag), MPI_ERR_ARG, MPI_COMM_SELF, "never set");
  EXPECT(MPI_Get_elements(&unset, MPI_INT, &flag), MPI_ERR_ARG, MPI_COMM_SELF, "never set");
  MPI_Comm_dup(MPI_COMM_SELF, &freed);
  null_comm = freed;
  MPI_Comm_free(&freed);
  CHECK(freed == MPI_COMM_NULL);
  EXPECT(MPI_Comm_rank(null_comm, &rank), MPI_ERR_COMM, MPI_COMM_SELF, "freed already");
}

/* A call that is not built yet says so, to the handler of its communicator. */
static void unsupported(MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  EXPECT(MPI_Comm_join(0, &made), MPI_ERR_UNSUPPORTED_OPERATION, MPI_COMM_SELF, "dunlin-info --coverage");
  EXPECT(MPI_Comm_accept("port", MPI_INFO_NULL, 0, comm, &made), MPI_ERR_UNSUPPORTED_OPERATION, comm,
         "MPI_Comm_accept");
  CHECK(made == MPI_COMM_NULL);
}

/* Values that an int does not hold: MPI_UNDEFINED where the standard says so, and right in the _c form. */
static void large_values(void) {
  MPI_Datatype type;
  MPI_Count size = 0;
  MPI_Status status;
  int narrow = 0;
  CHECK(MPI_Type_contiguous_c((MPI_Count)INT_MAX + 5, MPI_INT, &type) == MPI_SUCCESS);
  CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
  CHECK(MPI_Type_size(type, &narrow) == MPI_SUCCESS && narrow == MPI_UNDEFINED, "%d", narrow);
  CHECK(MPI_Type_size_c(type, &size) == MPI_SUCCESS && size == 4 * ((MPI_Count)INT_MAX + 5));
  CHECK(MPI_Type_size_x(type, &size) == MPI_SUCCESS && size == 4 * ((MPI_Count)INT_MAX + 5));
  memset(&status, 0, sizeof status);
  CHECK(MPI_Status_set_elements_c(&status, MPI_BYTE, (MPI_Count)INT_MAX + 9) == MPI_SUCCESS);
  CHECK(MPI_Get_count(&status, MPI_BYTE, &narrow) == MPI_SUCCESS && narrow == MPI_UNDEFINED);
  CHECK(MPI_Get_count_c(&status, MPI_BYTE, &size) == MPI_SUCCESS && size == (MPI_Count)INT_MAX + 9);
  CHECK(MPI_Get_elements(&status, MPI_BYTE, &narrow) == MPI_SUCCESS && narrow == MPI_UNDEFINED);
  CHECK(heard_times == 0);
  MPI_Type_free(&type);
}

/* Integers of handles come back as the handle, also for objects of the program. */
static void integers_of_handles(void) {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_contiguous(3, MPI_INT, &type);
  CHECK(MPI_Comm_toint(comm) >= 4096 && MPI_Comm_fromint(MPI_Comm_toint(comm)) == comm);
  CHECK(MPI_Type_f2c(MPI_Type_c2f(type)) == type && MPI_Type_c2f(type) != MPI_Comm_c2f(comm));
  CHECK(MPI_Comm_toint(comm) == MPI_Comm_toint(comm) && MPI_Comm_toint(MPI_COMM_NULL) == 0x100);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  MPI_Comm other;
  int rank = 0;
  check_start(&argc, &argv);
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Errhandler_free(&handler);
  CHECK(handler == MPI_ERRHANDLER_NULL);
  point_to_point(MPI_COMM_WORLD);
  point_to_point(other);
  starts(other);
  collectives(MPI_COMM_WORLD);
  collectives(other);
  operators(other);
  arrays(other);
  aliases(other);
  without_communicator();
  unsupported(other);
  large_values();
  integers_of_handles();
  MPI_Comm_free(&other);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Comm_rank(MPI_COMM_NULL, &rank)) == MPI_ERR_COMM && heard_times == 0);
  return check_end();
}
