/* Wait and test of any, some, all; persistent and null requests; cancel; get_status; truncation; generalized
 * requests. */
#include <string.h>

#include "check.h"

static void test_arrays(int left, int right) {
  enum { kCount = 20 };
  int in[kCount], out[kCount];
  MPI_Request requests[kCount];
  MPI_Status statuses[kCount];
  for (int way = 0; way < 6; ++way) {
    for (int i = 0; i < kCount; ++i) MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = kCount - 1; i >= 0; --i) {
      out[i] = check_rank * 1000 + i;
      MPI_Send(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD);
    }
    int done = 0, index, flag, indices[kCount], count;
    while (done < kCount) {
      switch (way) {
        case 0:
          MPI_Waitany(kCount, requests, &index, statuses);
          CHECK(statuses[0].MPI_TAG == index, "tag");
          ++done;
          break;
        case 1: MPI_Testany(kCount, requests, &index, &flag, statuses); done += flag; break;
        case 2:
          MPI_Waitsome(kCount, requests, &count, indices, statuses);
          CHECK(count > 0, "none");
          done += count;
          break;
        case 3: MPI_Testsome(kCount, requests, &count, indices, statuses); done += count; break;
        case 4: MPI_Waitall(kCount, requests, statuses); done = kCount; break;
        default: MPI_Testall(kCount, requests, &flag, statuses); done += flag * kCount; break;
      }
    }
    for (int i = 0; i < kCount; ++i) {
      CHECK(in[i] == left * 1000 + i, "way %d: message %d is %d", way, i, in[i]);
      CHECK(requests[i] == MPI_REQUEST_NULL, "way %d: request %d is left", way, i);
    }
    MPI_Waitany(kCount, requests, &index, statuses);
    CHECK(index == MPI_UNDEFINED, "waitany of null requests: %d", index);
    MPI_Testsome(kCount, requests, &count, indices, statuses);
    CHECK(count == MPI_UNDEFINED, "testsome of null requests: %d", count);
  }
}

static void test_persistent(int left, int right) {
  double in = 0, out = 0;
  MPI_Request requests[2];
  MPI_Status status;
  MPI_Recv_init(&in, 1, MPI_DOUBLE, left, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&out, 1, MPI_DOUBLE, right, 5, MPI_COMM_WORLD, &requests[1]);
  MPI_Wait(&requests[0], &status); /* inactive: at once, empty status */
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG, "inactive status");
  for (int round = 0; round < 50; ++round) {
    out = check_rank + round * 0.5;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in == left + round * 0.5, "round %d: %g", round, in);
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "persistent request vanished");
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void test_cancel(int left, int right) {
  int value = 0, flag = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&value, 1, MPI_INT, left, 77, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag, "the receive was not cancelled");
  MPI_Issend(&value, 1, MPI_INT, right, 78, MPI_COMM_WORLD, &request); /* never received */
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag, "the synchronous send was not cancelled");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iprobe(left, 78, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag, "the cancelled message is still there");
  for (int i = 0; i < 20; ++i) { /* to itself, where it has been seen: programs look once */
    MPI_Issend(&value, 1, MPI_INT, check_rank, 79, MPI_COMM_WORLD, &request);
    MPI_Probe(check_rank, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Cancel(&request);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(flag, "the send to itself is still under way");
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag, "the send to itself was not cancelled");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void test_truncation(int left, int right) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  static int out[50000];
  int in[2] = {-1, -1};
  for (int count = 3; count <= 50000; count += 49997) {
    MPI_Request request;
    MPI_Status status;
    for (int i = 0; i < count; ++i) out[i] = i + check_rank;
    MPI_Irecv(in, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &request);
    MPI_Request send;
    MPI_Isend(out, count, MPI_INT, right, 9, MPI_COMM_WORLD, &send);
    const int error = MPI_Wait(&request, &status);
    int error_class = 0;
    MPI_Error_class(error, &error_class);
    CHECK(error_class == MPI_ERR_TRUNCATE, "count %d: error class %d", count, error_class);
    CHECK(in[0] == left && in[1] == -1, "wrote %d %d", in[0], in[1]);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int freed;
static int query(void* state, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, *(int*)state);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 3;
  status->MPI_TAG = 4;
  return MPI_SUCCESS;
}
static int release(void* state) {
  (void)state;
  ++freed;
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

static void test_generalized(void) {
  int state = 17, flag, count;
  MPI_Request request, copy;
  MPI_Status status;
  MPI_Grequest_start(query, release, cancel, &state, &request);
  copy = request;
  MPI_Test(&request, &flag, &status);
  CHECK(!flag, "complete before MPI_Grequest_complete");
  MPI_Grequest_complete(copy);
  MPI_Request_get_status(request, &flag, &status);
  CHECK(flag && freed == 0, "get_status: flag %d freed %d", flag, freed);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 17 && status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && freed == 1, "count %d freed %d",
        count, freed);
}

static void test_null(void) {
  int value = 5;
  MPI_Status status;
  MPI_Request request;
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && value == 5, "null receive");
  MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL, "null irecv");
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size;
  test_arrays(left, right);
  test_persistent(left, right);
  test_cancel(left, right);
  test_truncation(left, right);
  test_generalized();
  test_null();
  return check_end();
}
