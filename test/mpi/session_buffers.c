/* Buffered sends of a session: its buffer serves every communicator made from its process sets, and no other,
 * unless they have one of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kInts = 50000, kMessages = 4 };

static MPI_Comm connect_all(MPI_Session session, const char* tag) {
  MPI_Group group, reversed;
  MPI_Comm comm, made;
  int range[1][3], size;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Group_size(group, &size);
  range[0][0] = size - 1, range[0][1] = 0, range[0][2] = -1;
  MPI_Group_range_incl(group, 1, range, &reversed); /* a derived group stays the session's */
  MPI_Comm_create_from_group(reversed, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Comm_dup(comm, &made);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Group_free(&reversed);
  return made;
}

static int error_class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/* Large messages that nobody receives yet: they need the buffer. */
static int send_all(MPI_Comm comm, int* data) {
  int rank, size, code = MPI_SUCCESS;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < kMessages && code == MPI_SUCCESS; ++i) {
    for (int k = 0; k < kInts; ++k) data[k] = rank * 1000 + i + k;
    code = MPI_Bsend(data, kInts, MPI_INT, (rank + 1) % size, i, comm);
  }
  return code;
}

static void receive_all(MPI_Comm comm, int* data) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int from = (rank + size - 1) % size;
  for (int i = 0; i < kMessages; ++i) {
    MPI_Recv(data, kInts, MPI_INT, from, i, comm, MPI_STATUS_IGNORE);
    for (int k = 0; k < kInts; ++k)
      CHECK(data[k] == from * 1000 + i + k, "message %d, element %d: %d", i, k, data[k]);
  }
}

/* The request of a flush outlives its buffer, whoever takes its memory. */
static void wait_after_detach(MPI_Request* request) {
  enum { kBlocks = 64, kBytes = 56 };
  void* taken[kBlocks];
  for (int i = 0; i < kBlocks; ++i) memset(taken[i] = malloc(kBytes), 0x7f, kBytes);
  CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  for (int i = 0; i < kBlocks; ++i) free(taken[i]);
}

int main(void) {
  MPI_Session first, second;
  MPI_Request request;
  void* detached = NULL;
  int bytes = kMessages * (kInts * (int)sizeof(int) + MPI_BSEND_OVERHEAD), size = 0;
  void* buffer = malloc((size_t)bytes);
  int* data = malloc(kInts * sizeof *data);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second);
  MPI_Comm mine = connect_all(first, "first"), other = connect_all(second, "second");
  MPI_Comm_rank(mine, &check_rank);
  MPI_Comm_size(mine, &check_size);

  CHECK(error_class_of(send_all(mine, data)) == MPI_ERR_BUFFER, "no buffer is attached");
  CHECK(MPI_Session_attach_buffer(first, buffer, bytes) == MPI_SUCCESS);
  CHECK(error_class_of(MPI_Session_attach_buffer(first, buffer, bytes)) == MPI_ERR_BUFFER,
        "there is one already");
  CHECK(send_all(mine, data) == MPI_SUCCESS);
  CHECK(error_class_of(send_all(other, data)) == MPI_ERR_BUFFER, "the buffer is the other session's");
  receive_all(mine, data);
  CHECK(MPI_Session_flush_buffer(first) == MPI_SUCCESS);
  CHECK(send_all(mine, data) == MPI_SUCCESS);
  CHECK(MPI_Session_iflush_buffer(first, &request) == MPI_SUCCESS);
  receive_all(mine, data);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(send_all(mine, data) == MPI_SUCCESS);
  CHECK(MPI_Session_iflush_buffer(first, &request) == MPI_SUCCESS);
  receive_all(mine, data);
  CHECK(MPI_Session_detach_buffer(first, &detached, &size) == MPI_SUCCESS);
  CHECK(detached == buffer && size == bytes, "detached %d bytes", size);
  wait_after_detach(&request);
  CHECK(MPI_Comm_attach_buffer(mine, buffer, bytes) == MPI_SUCCESS);
  CHECK(send_all(mine, data) == MPI_SUCCESS);
  CHECK(MPI_Comm_iflush_buffer(mine, &request) == MPI_SUCCESS);
  receive_all(mine, data);
  CHECK(MPI_Comm_detach_buffer(mine, &detached, &size) == MPI_SUCCESS);
  CHECK(detached == buffer && size == bytes, "detached %d bytes", size);
  wait_after_detach(&request);
  CHECK(MPI_Session_attach_buffer(second, MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS);
  CHECK(send_all(other, data) == MPI_SUCCESS);
  receive_all(other, data);

  MPI_Barrier(mine);
  MPI_Comm_free(&mine);
  MPI_Comm_free(&other);
  CHECK(MPI_Session_finalize(&second) == MPI_SUCCESS); /* gives up its buffer */
  CHECK(MPI_Session_finalize(&first) == MPI_SUCCESS);
  free(buffer);
  free(data);
  return 0;
}
