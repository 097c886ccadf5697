/* MPI_THREAD_MULTIPLE: what another thread frees during a blocking call lives until the call ends: datatypes
 * of a send, a communicator with its error handler, datatypes and operator of collectives.  And a
 * communicator that was freed before MPI_Wait still has its error handler.
 * ranks: 2
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kBlocks = 20000, kInts = 2 * kBlocks, kFresh = 40 };
static int heard;
static MPI_Comm comm;
static MPI_Datatype type, types[2];
static MPI_Op op;

static void hear(MPI_Comm* on, int* code, ...) {
  (void)on, (void)code;
  ++heard;
}
static void add(void* in, void* inout, int* count, MPI_Datatype* datatype) {
  (void)datatype;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

/* Every second int. */
static MPI_Datatype spaced(void) {
  MPI_Datatype made;
  MPI_Type_vector(kBlocks, 1, 2, MPI_INT, &made);
  MPI_Type_commit(&made);
  return made;
}

/* Frees what the other thread uses, once it waits, and takes the memory for something else. */
static void* free_all(void* unused) {
  usleep(50000);
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  for (int i = 0; i < 2; ++i)
    if (types[i] != MPI_DATATYPE_NULL) MPI_Type_free(&types[i]);
  if (op != MPI_OP_NULL) MPI_Op_free(&op);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Datatype fresh[kFresh];
  MPI_Op fresh_op;
  for (int i = 0; i < kFresh; ++i) {
    MPI_Type_vector(3, 5, 7, MPI_DOUBLE, &fresh[i]);
    MPI_Type_commit(&fresh[i]);
  }
  MPI_Op_create(add, 0, &fresh_op);
  usleep(50000); /* only now may the peer go on */
  const int ready = 1;
  MPI_Send(&ready, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
  for (int i = 0; i < kFresh; ++i) MPI_Type_free(&fresh[i]);
  MPI_Op_free(&fresh_op);
  return unused;
}

static pthread_t helper;
static void start_helper(void) { pthread_create(&helper, NULL, free_all, NULL); }
static void end_helper(void) { pthread_join(helper, NULL); }
static void await_helper(void) {
  int ready;
  MPI_Recv(&ready, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void fill(int* data, int from) {
  for (int i = 0; i < kInts; ++i) data[i] = from + i;
}

static void send_of_freed_type(int* data) {
  if (check_rank == 0) {
    fill(data, 0);
    type = spaced();
    start_helper();
    MPI_Ssend(data, 1, type, 1, 1, MPI_COMM_WORLD);
    end_helper();
  } else {
    await_helper();
    MPI_Recv(data, kBlocks, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kBlocks; ++i) CHECK(data[i] == 2 * i, "int %d is %d", i, data[i]);
  }
}

static void receive_on_freed_comm(int* data) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  if (check_rank == 0) {
    start_helper();
    const int code = MPI_Recv(data, 1, MPI_INT, 1, 2, comm, MPI_STATUS_IGNORE);
    CHECK(code == MPI_ERR_TRUNCATE && heard == 1, "code %d, heard %d times", code, heard);
    end_helper();
  } else {
    await_helper();
    MPI_Send(data, 5, MPI_INT, 0, 2, comm);
    MPI_Comm_free(&comm);
  }
  MPI_Errhandler_free(&handler);
}

static void wait_on_freed_comm(int* data) {
  MPI_Errhandler handler;
  MPI_Request request;
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  heard = 0;
  MPI_Irecv(data, 1, MPI_INT, 0, 0, comm, &request);
  MPI_Send(data + 8, 5, MPI_INT, 0, 0, comm);
  MPI_Comm_free(&comm);
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(code == MPI_ERR_TRUNCATE && heard == 1, "code %d, heard %d times", code, heard);
}

static void collectives_of_freed(int* data) {
  memset(data, 0, sizeof(int) * kInts);
  if (check_rank == 0) {
    type = spaced();
    start_helper();
    MPI_Bcast(data, 1, type, 1, MPI_COMM_WORLD);
    for (int i = 0; i < kInts; ++i) CHECK(data[i] == (i % 2 ? 0 : i / 2), "int %d is %d", i, data[i]);
    end_helper();
  } else {
    await_helper();
    fill(data, 0);
    MPI_Bcast(data, kBlocks, MPI_INT, 1, MPI_COMM_WORLD);
  }
  MPI_Op_create(add, 1, &op);
  int out = 3, in = -1;
  if (check_rank == 0) {
    start_helper();
    MPI_Allreduce(&out, &in, 1, MPI_INT, op, MPI_COMM_WORLD);
    end_helper();
  } else {
    await_helper();
    MPI_Allreduce(&out, &in, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
  }
  CHECK(in == 6, "%d", in);
  /* The types of an array: each rank sends to itself nothing, to the other everything. */
  const int counts[2] = {check_rank != 0, check_rank != 1}, displacements[2] = {0, 0};
  int* const received = malloc(sizeof(int) * kInts);
  memset(received, 0, sizeof(int) * kInts);
  fill(data, 0);
  types[0] = spaced(), types[1] = spaced();
  MPI_Datatype used[2] = {types[0], types[1]};
  if (check_rank == 0)
    start_helper();
  else
    await_helper();
  MPI_Alltoallw(data, counts, displacements, used, received, counts, displacements, used, MPI_COMM_WORLD);
  for (int i = 0; i < kInts; ++i) CHECK(received[i] == (i % 2 ? 0 : i), "int %d is %d", i, received[i]);
  if (check_rank == 0) {
    end_helper();
  } else {
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
  }
  free(received);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &check_size);
  type = types[0] = types[1] = MPI_DATATYPE_NULL;
  comm = MPI_COMM_NULL;
  op = MPI_OP_NULL;
  int* const data = malloc(sizeof(int) * kInts);
  memset(data, 0, sizeof(int) * kInts);
  send_of_freed_type(data);
  receive_on_freed_comm(data);
  wait_on_freed_comm(data);
  collectives_of_freed(data);
  free(data);
  return check_end();
}
