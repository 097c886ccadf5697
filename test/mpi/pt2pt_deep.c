/* More receives than a network has room for, answered from the last to the first; messages that are wanted
   back while others of their kind wait; messages of which the receiver wants nothing. ranks: 2 3 variants:
   none */
#include "check.h"

enum { kDeep = 5000, kLong = 1000000, kTag = 7, kReady = 100000 };

static int values[kDeep];
static MPI_Request requests[kDeep];

/* Rank 1 has said that it is ready, and waits for an answer. */
static void meet(void) {
  int word = 0;
  if (check_rank == 0) MPI_Recv(&word, 1, MPI_INT, 1, kReady, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (check_rank == 1) MPI_Send(&word, 1, MPI_INT, 0, kReady, MPI_COMM_WORLD);
}
static void go_on(int word) { MPI_Send(&word, 1, MPI_INT, 1, kReady, MPI_COMM_WORLD); }
static int wait_to_go_on(void) {
  int word = 0;
  MPI_Recv(&word, 1, MPI_INT, 0, kReady, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return word;
}

/* Each receive has a tag of its own; those that were posted last get their messages first. */
static void check_deep(void) {
  if (check_rank == 1) {
    for (int i = 0; i < kDeep; ++i)
      MPI_Irecv(&values[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 0, i, MPI_COMM_WORLD, &requests[i]);
    meet();
    wait_to_go_on();
    for (int i = 0, flag; i < 100; ++i) {
      MPI_Iprobe(0, kDeep - 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      CHECK(!flag, "a probe shows a message that a receive waits for");
    }
    meet();
    MPI_Waitall(kDeep, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kDeep; ++i) CHECK(values[i] == i, "receive %d has %d", i, values[i]);
  } else if (check_rank == 0) {
    int last = kDeep - 1;
    meet();
    MPI_Ssend(&last, 1, MPI_INT, 1, last, MPI_COMM_WORLD);
    go_on(0);
    meet();
    for (int i = last - 1; i >= 0; --i) MPI_Ssend(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
  }
}

/* Wildcards beyond the room: every message goes to the oldest receive that takes it; the last one is
 * cancelled. */
static void check_order(void) {
  if (check_rank == 1) {
    for (int i = 0; i < kDeep; ++i)
      MPI_Irecv(&values[i], 1, MPI_INT, 0, i % 3 ? MPI_ANY_TAG : kTag, MPI_COMM_WORLD, &requests[i]);
    meet();
    MPI_Status status;
    int flag;
    MPI_Cancel(&requests[kDeep - 1]);
    MPI_Wait(&requests[kDeep - 1], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag, "the last receive was not cancelled");
    MPI_Waitall(kDeep - 1, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kDeep - 1; ++i) CHECK(values[i] == i, "receive %d has message %d", i, values[i]);
  } else if (check_rank == 0) {
    meet();
    for (int i = 0; i < kDeep - 1; ++i) MPI_Send(&i, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
  }
}

/* Of three messages of one kind the second is wanted back; the others stay as they are. */
static void check_cancelled(int bytes) {
  unsigned char* data = malloc(3 * (size_t)bytes);
  MPI_Status status;
  int flag;
  if (check_rank == 0) {
    for (int i = 0; i < 3 * bytes; ++i) data[i] = (unsigned char)(i / bytes + 1);
    meet();
    for (int i = 0; i < 3; ++i)
      MPI_Issend(data + i * (size_t)bytes, bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &requests[i]);
    MPI_Cancel(&requests[1]);
    MPI_Wait(&requests[1], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag, "a message of %d bytes was not cancelled", bytes);
    go_on(0);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  } else if (check_rank == 1) {
    meet();
    wait_to_go_on();
    for (int number = 1; number <= 3; number += 2) {
      MPI_Recv(data, bytes, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      CHECK(status.MPI_TAG == kTag && data[0] == number && data[bytes - 1] == number,
            "message %d instead of %d", data[0], number);
    }
    MPI_Iprobe(0, kTag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag, "a cancelled message of %d bytes has come", bytes);
  }
  free(data);
}

/* A receive of no bytes ends with an error, and its sender goes on. */
static void check_cut_off(int bytes) {
  char* data = calloc((size_t)bytes, 1);
  if (check_rank == 0) MPI_Ssend(data, bytes, MPI_BYTE, 1, kTag + 1, MPI_COMM_WORLD);
  if (check_rank == 1) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Recv(NULL, 0, MPI_BYTE, 0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &code);
    CHECK(code == MPI_ERR_TRUNCATE, "%d bytes into none: class %d", bytes, code);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  }
  free(data);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  check_deep();
  check_order();
  const int sizes[] = {1, 100, 5000, 20000, kLong};
  for (int i = 0; i < 5; ++i) {
    check_cancelled(sizes[i]);
    check_cut_off(sizes[i]);
  }
  return check_end();
}
