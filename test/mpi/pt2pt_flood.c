/* Many unexpected messages, received in another order than sent: none is lost, the order per tag is kept. */
#include "check.h"

enum { kMessages = 20000, kTags = 50 };

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size;
  MPI_Request* requests = malloc(kMessages * sizeof *requests);
  long* out = malloc(kMessages * sizeof *out);
  for (int i = 0; i < kMessages; ++i) {
    out[i] = i;
    MPI_Isend(&out[i], 1, MPI_LONG, right, i % kTags, MPI_COMM_WORLD, &requests[i]);
  }
  for (int tag = kTags - 1; tag >= 0; --tag)
    for (int i = tag; i < kMessages; i += kTags) {
      long in = -1;
      MPI_Recv(&in, 1, MPI_LONG, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(in == i, "tag %d: %ld instead of %d", tag, in, i);
    }
  MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  free(out);
  free(requests);
  return check_end();
}
