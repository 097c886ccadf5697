/* Many senders to one receiver: a message of 63 takes about as long as one of 31 (once 7 to 20 times as
 * long).  The least of the rounds is compared, taken in turn, and the bound is wide: ranks share cores.
 *
 * ranks: 64
 *
 * variants: none
 */
#include "check.h"

enum { kMessages = 5000, kRounds = 2, kFew = 31, kMany = 63 };

/* Seconds for a message of `senders` ranks to rank 0, as rank 0 sees it. */
static double message_s(int senders) {
  int word = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (check_rank == 0)
    for (int i = 0; i < senders * kMessages; ++i)
      MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else if (check_rank <= senders)
    for (int i = 0; i < kMessages; ++i) MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  const double end = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  return (end - start) / (senders * kMessages);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  double few = 1e9, many = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double of_few = message_s(kFew), of_many = message_s(kMany);
    few = of_few < few ? of_few : few;
    many = of_many < many ? of_many : many;
  }
  if (check_rank == 0)
    CHECK(many < 4 * few, "a message of 63 senders %g us, of 31 %g", many * 1e6, few * 1e6);
  return check_end();
}
