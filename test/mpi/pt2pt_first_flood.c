/* The first traffic of all pairs at once: every rank sends each other one more messages than a network lets
 * be under way, before anybody has received one.
 */
#include "check.h"

enum { kMessages = 300 };

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int others = check_size - 1;
  MPI_Request* requests = malloc((size_t)(2 * others * kMessages + 1) * sizeof *requests);
  int(*in)[kMessages] = calloc((size_t)check_size, sizeof *in), out[kMessages], count = 0;
  for (int i = 0; i < kMessages; ++i) out[i] = 1000 * check_rank + i;
  for (int k = 1; k <= others; ++k)
    for (int i = 0; i < kMessages; ++i) {
      const int from = (check_rank + check_size - k) % check_size;
      MPI_Irecv(&in[from][i], 1, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[count++]);
    }
  for (int i = 0; i < kMessages; ++i)
    for (int k = 1; k <= others; ++k)
      MPI_Isend(&out[i], 1, MPI_INT, (check_rank + k) % check_size, 0, MPI_COMM_WORLD, &requests[count++]);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (int from = 0; from < check_size; ++from)
    for (int i = 0; i < kMessages && from != check_rank; ++i)
      CHECK(in[from][i] == 1000 * from + i, "message %d of rank %d is %d", i, from, in[from][i]);
  free(in);
  free(requests);
  return check_end();
}
