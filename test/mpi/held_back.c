/* A receiver that is overrun holds its sender back: nothing is lost, and who waits too long says why.
   ranks: 2
   variants: none */
#include <unistd.h>

#include "check.h"

enum { kMessages = 3000, kBytes = 200 };

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  static char data[kMessages][kBytes];
  if (check_rank == 0) {
    static MPI_Request requests[kMessages];
    for (int i = 0; i < kMessages; ++i) {
      data[i][0] = (char)i;
      MPI_Isend(data[i], kBytes, MPI_BYTE, 1, i % 3, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  } else {
    int flag = 0;
    for (int i = 0; i < 25; ++i) { /* two and a half seconds in which only envelopes are taken in */
      usleep(100000);
      MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      CHECK(!flag, "a message that nobody sent");
    }
    for (int tag = 2; tag >= 0; --tag)
      for (int i = tag; i < kMessages; i += 3) {
        MPI_Recv(data[i], kBytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(data[i][0] == (char)i, "tag %d: %d instead of %d", tag, data[i][0], i);
      }
  }
  return check_end();
}
