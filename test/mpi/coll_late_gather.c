/* A gather in which ranks give too little, and others come late: the root's error comes when nobody stores in
 * its memory any more, and nobody waits for ever.  ranks: 3 4 variants: none */
#include <string.h>
#include <unistd.h>

#include "coll_check.h"

enum { BLOCK = 1 << 20 };

static void gather(int wrong_ranks, int late_rank) {
  char* const block = malloc(BLOCK);
  char* const all = check_rank == 0 ? malloc((size_t)check_size * BLOCK) : NULL;
  memset(block, 'a' + check_rank, BLOCK);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == late_rank) usleep(300000);
  const int is_wrong = check_rank > 0 && check_rank <= wrong_ranks;
  const int error = MPI_Gather(block, is_wrong ? BLOCK / 2 : BLOCK, MPI_CHAR, all, BLOCK, MPI_CHAR, 0,
                               MPI_COMM_WORLD);
  CHECK(check_rank > 0 || error != MPI_SUCCESS, "the root has not heard of it");
  if (check_rank == 0) {
    memset(all, 'z', (size_t)check_size * BLOCK); /* it is the program's again */
    usleep(600000);
    for (size_t i = 0; i < (size_t)check_size * BLOCK; ++i)
      if (all[i] != 'z') {
        CHECK(0, "%d wrong, rank %d late: byte %zu has changed after the call", wrong_ranks, late_rank, i);
        break;
      }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  free(block), free(all);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  gather(1, -1);
  gather(1, 2);
  gather(2, -1);
  gather(2, 2);
  return check_end();
}
