/* MPI_Sendrecv and its relatives: every size and way of a message, both halves to the same rank, to different
   ones, to oneself and to nobody; wildcards; data with gaps, replaced; more than fits the channel. */
#include <string.h>

#include "check.h"

enum { kIntsMax = 50000 };

static int out[2 * kIntsMax], in[2 * kIntsMax];

static int value(int rank, int count, int i) { return rank * 1000003 + count * 101 + i; }

static void fill(int* data, int rank, int count, int stride) {
  for (int i = 0; i < count * stride; ++i) data[i] = i % stride == 0 ? value(rank, count, i / stride) : -7;
}

static void verify(const int* data, int rank, int count, int stride, const char* what) {
  for (int i = 0; i < count * stride; ++i) {
    const int expected = i % stride == 0 ? value(rank, count, i / stride) : -7;
    CHECK(data[i] == expected, "%s of %d: element %d is %d, not %d", what, count, i, data[i], expected);
    if (data[i] != expected) return;
  }
}

static void verify_status(MPI_Status* status, int source, int tag, int count, const char* what) {
  int got;
  MPI_Get_count(status, MPI_INT, &got);
  CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag && got == count, "%s of %d: status %d %d %d",
        what, count, status->MPI_SOURCE, status->MPI_TAG, got);
}

/* To `to`, from `from`, by every call. */
static void exchange(int count, int to, int from, int is_named) {
  const int tag = 5, source = is_named ? from : MPI_ANY_SOURCE, recvtag = is_named ? tag : MPI_ANY_TAG;
  MPI_Status status;
  MPI_Request request;
  MPI_Datatype every_other;
  fill(out, check_rank, count, 1);
  memset(in, 0, sizeof in);
  MPI_Sendrecv(out, count, MPI_INT, to, tag, in, kIntsMax, MPI_INT, source, recvtag, MPI_COMM_WORLD, &status);
  verify(in, from, count, 1, "MPI_Sendrecv");
  verify_status(&status, from, tag, count, "MPI_Sendrecv");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Isendrecv(out, count, MPI_INT, to, tag, in, kIntsMax, MPI_INT, source, recvtag, MPI_COMM_WORLD,
                &request);
  MPI_Wait(&request, &status);
  verify(in, from, count, 1, "MPI_Isendrecv");
  verify_status(&status, from, tag, count, "MPI_Isendrecv");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_other);
  MPI_Type_commit(&every_other);
  fill(in, check_rank, count, 2);
  MPI_Sendrecv_replace(in, count, every_other, to, tag, source, recvtag, MPI_COMM_WORLD, &status);
  verify(in, from, count, 2, "MPI_Sendrecv_replace");
  verify_status(&status, from, tag, count, "MPI_Sendrecv_replace");
  MPI_Barrier(MPI_COMM_WORLD);
  fill(in, check_rank, count, 2);
  MPI_Isendrecv_replace(in, count, every_other, to, tag, source, recvtag, MPI_COMM_WORLD, &request);
  MPI_Type_free(&every_other);
  MPI_Wait(&request, &status);
  verify(in, from, count, 2, "MPI_Isendrecv_replace");
  verify_status(&status, from, tag, count, "MPI_Isendrecv_replace");
  MPI_Barrier(MPI_COMM_WORLD);
}

static void with_nobody(void) {
  int word = 9;
  MPI_Status status;
  MPI_Sendrecv(&word, 1, MPI_INT, MPI_PROC_NULL, 0, &word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
               &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && word == 9, "from nobody");
  /* One half each: the chain from rank 0 on. */
  const int before = check_rank > 0 ? check_rank - 1 : MPI_PROC_NULL;
  const int next = check_rank + 1 < check_size ? check_rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv_replace(&word, 1, MPI_INT, next, 1, before, 1, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == before && word == 9, "the chain");
}

static void too_long(void) {
  int two[2] = {1, 2}, one = 0, error, error_class;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  error = MPI_Sendrecv(two, 2, MPI_INT, (check_rank + 1) % check_size, 2, &one, 1, MPI_INT,
                       (check_rank + check_size - 1) % check_size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Error_class(error, &error_class);
  CHECK(error_class == MPI_ERR_TRUNCATE, "class %d", error_class);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  static const int counts[] = {0, 1, 2, 10, 11, 100, 255, 1024, 2047, 2048, 5000, kIntsMax};
  check_start(&argc, &argv);
  const int next = (check_rank + 1) % check_size, before = (check_rank + check_size - 1) % check_size;
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; ++i)
    for (int is_named = 0; is_named < 2; ++is_named) {
      exchange(counts[i], next, before, is_named);
      exchange(counts[i], before, next, is_named);
      exchange(counts[i], check_rank, check_rank, is_named);
      if (check_size % 2 == 0) exchange(counts[i], check_rank ^ 1, check_rank ^ 1, is_named);
    }
  with_nobody();
  too_long();
  return check_end();
}
