/* Order: messages of one sender with one tag arrive as sent, whatever their sizes; wildcards take the oldest.
 */
#include <string.h>

#include "check.h"

enum { kMessages = 600 };

static int bytes_of(int i) {
  static const int sizes[] = {8, 48, 4, 3000, 16, 100000, 64, 20000, 8};
  return sizes[i % 9];
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  char* data = malloc(100000 * 1);
  if (check_rank != 0) {
    MPI_Request requests[kMessages];
    char** copies = malloc(kMessages * sizeof *copies);
    for (int i = 0; i < kMessages; ++i) {
      copies[i] = malloc(bytes_of(i));
      memset(copies[i], 0, bytes_of(i));
      memcpy(copies[i], &i, sizeof i);
      MPI_Isend(copies[i], bytes_of(i), MPI_BYTE, 0, i % 2, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kMessages; ++i) free(copies[i]);
    free(copies);
  } else {
    int* next = calloc(check_size, 2 * sizeof *next);
    /* First half: any source, any tag.  The number in the message must be the next of that source. */
    const int senders = check_size - 1;
    for (int i = 0; i < senders * kMessages / 2; ++i) {
      MPI_Status status;
      int number, count;
      MPI_Recv(data, 100000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      memcpy(&number, data, sizeof number);
      MPI_Get_count(&status, MPI_BYTE, &count);
      CHECK(number == next[2 * status.MPI_SOURCE], "source %d: %d instead of %d", status.MPI_SOURCE, number,
            next[2 * status.MPI_SOURCE]);
      CHECK(count == bytes_of(number) && status.MPI_TAG == number % 2, "count %d tag %d", count,
            status.MPI_TAG);
      ++next[2 * status.MPI_SOURCE];
    }
    /* Second half: by source and tag, last source first, odd tags first. */
    for (int source = check_size - 1; source >= 1; --source)
      for (int tag = 1; tag >= 0; --tag) {
        int expected = next[2 * source];
        if (expected % 2 != tag) ++expected;
        for (; expected < kMessages; expected += 2) {
          int number;
          MPI_Recv(data, 100000, MPI_BYTE, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          memcpy(&number, data, sizeof number);
          CHECK(number == expected, "source %d tag %d: %d instead of %d", source, tag, number, expected);
        }
      }
    free(next);
  }
  free(data);
  return check_end();
}
