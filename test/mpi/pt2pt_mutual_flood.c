/* Two ranks that send each other far more than DUNLIN_UNEXPECTED_BYTES before either receives: both hold
 * each other back, and neither's memory grows by more than a few times that limit.  All is received in the
 * end.
 * ranks: none
 * variants: none
 */
#include <string.h>
#include <unistd.h>

#include "check.h"

/* 64 MB each way under a limit of 1 MB; each message is short enough to be pushed unasked. */
enum { kMessages = 4000, kBytes = 16000, kLimit_kb = 1024, kPolls = 5000 };

int main(int argc, char** argv) {
  static char out[kMessages][kBytes], in[kBytes];
  static MPI_Request requests[kMessages];
  check_start(&argc, &argv);
  CHECK(check_size == 2, "two ranks");
  for (int i = 0; i < kMessages; ++i) memset(out[i], i + check_rank, kBytes);
  memset(requests, 0, sizeof requests);
  MPI_Barrier(MPI_COMM_WORLD);
  const long before_kb = check_touched_kb();
  long most_kb = 0;
  for (int i = 0; i < kMessages; ++i)
    MPI_Isend(out[i], kBytes, MPI_BYTE, !check_rank, 0, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < kPolls; ++i) { /* what comes is taken in, and nobody receives it */
    int found;
    MPI_Iprobe(!check_rank, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    CHECK(!found, "a message that nobody sent");
    const long grown_kb = check_touched_kb() - before_kb;
    if (grown_kb > most_kb) most_kb = grown_kb;
    usleep(200);
  }
  printf("rank %d: at most %ld KiB more\n", check_rank, most_kb);
  CHECK(before_kb > 0 && most_kb < 8 * kLimit_kb, "%ld KiB more", most_kb);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kMessages; ++i) {
    const char wanted = (char)(i + !check_rank);
    MPI_Recv(in, kBytes, MPI_BYTE, !check_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == wanted && in[kBytes - 1] == wanted, "message %d: %d, not %d", i, in[0], wanted);
  }
  MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  return check_end();
}
