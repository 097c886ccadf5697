/* ranks: 2 3
   MPI_Bsend with a buffer just large enough: what the program knows to be received, from its receiver or from
   a third rank, has left its room; what really has no room is an error at once. */
#include "check.h"

enum { kBytes = 70000, kRounds = 300, kNoise = 3 };

static char message[kBytes];

static void stay_away(double seconds) {
  for (const double start = MPI_Wtime(); MPI_Wtime() - start < seconds;) {
  }
}

static void sender(void) {
  const int bytes = 2 * (kBytes + MPI_BSEND_OVERHEAD);
  void* buffer = malloc(bytes);
  void* detached;
  int size, i, error, error_class;
  double start, fastest_s = 1;
  char word;
  MPI_Buffer_attach(buffer, bytes);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Bsend(message, kBytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Bsend(message, kBytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    stay_away(100e-6); /* the way back stays full */
    MPI_Recv(&word, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (i = 0; i < kNoise; ++i) MPI_Recv(&word, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int round = 0; round < kRounds && check_size > 2; ++round) {
    for (i = 0; i < 2; ++i) MPI_Bsend(message, kBytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_BYTE, 2, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  /* Nobody receives these until the word that follows. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (i = 0; i < 2; ++i) MPI_Bsend(message, kBytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  for (i = 0; i < 5; ++i) {
    start = MPI_Wtime();
    error = MPI_Bsend(message, kBytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    if (MPI_Wtime() - start < fastest_s) fastest_s = MPI_Wtime() - start;
    MPI_Error_class(error, &error_class);
    CHECK(error_class == MPI_ERR_BUFFER, "a third message had room: class %d", error_class);
  }
  CHECK(fastest_s < 0.05, "the error took %.3f s", fastest_s);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Send(&word, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
  MPI_Buffer_detach(&detached, &size);
  CHECK(detached == buffer && size == bytes);
  free(buffer);
}

static void receiver(void) {
  MPI_Request noise[kNoise];
  char word = 0;
  int i;
  for (int round = 0; round < kRounds; ++round) {
    /* Fills a ring of four lines, so that what the library says of the messages below has to wait. */
    for (i = 0; i < kNoise; ++i) MPI_Isend(&word, 1, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &noise[i]);
    for (i = 0; i < 2; ++i)
      MPI_Recv(message, kBytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    stay_away(200e-6); /* until the way back is free again */
    MPI_Send(&word, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    MPI_Waitall(kNoise, noise, MPI_STATUSES_IGNORE);
  }
  for (int round = 0; round < kRounds && check_size > 2; ++round) {
    for (i = 0; i < 2; ++i)
      MPI_Recv(message, kBytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_BYTE, 2, 2, MPI_COMM_WORLD);
  }
  MPI_Recv(&word, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (i = 0; i < 2; ++i) MPI_Recv(message, kBytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void messenger(void) {
  char word;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Recv(&word, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  if (check_rank == 0) sender();
  if (check_rank == 1) receiver();
  if (check_rank == 2) messenger();
  return check_end();
}
