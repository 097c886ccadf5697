/* A rank that receives from one that stays ahead, so that every receive ends at once, still serves a third:
 * the sends that it has pending go on, and the data that the third asks for is sent; so it is where it takes
 * part in collectives whose root stays ahead.
 * For real with rings that hold all that comes ahead (test/CMakeLists.txt).
 * ranks: 3
 * variants: none
 */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kAhead = 700, kShort = 2000, kBytes = 1 << 20 };
static char* data;
static MPI_Request requests[kShort];

/* Rank 0 starts sends to rank 2, then lives on what rank 1 has sent before, one message every .5 ms; rank
 * 2 asks late, and must have everything before rank 0 is through. */
static void serve_third(const char* what, int count, int bytes, void (*send)(void), void (*receive)(void)) {
  double done = 0, through = 0;
  if (check_rank == 1) {
    for (int i = 0; i < kAhead; ++i) send();
  } else if (check_rank == 0) {
    for (int i = 0; i < count; ++i) MPI_Isend(data, bytes, MPI_BYTE, 2, i, MPI_COMM_WORLD, &requests[i]);
    usleep(50000); /* now all that rank 1 sends is there */
    for (int i = 0; i < kAhead; ++i) {
      usleep(500);
      receive();
    }
    through = MPI_Wtime();
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(&done, 1, MPI_DOUBLE, 2, kShort, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(done < through, "%s: rank 2 had to wait until rank 0 did not receive any more", what);
  } else {
    usleep(100000);
    for (int i = 0; i < count; ++i)
      MPI_Recv(data, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    done = MPI_Wtime();
    MPI_Send(&done, 1, MPI_DOUBLE, 0, kShort, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Comm pair; /* ranks 0 and 1 */
static void send_named(void) { MPI_Send(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD); }
static void receive_named(void) { MPI_Recv(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void bcast(void) { MPI_Bcast(data, 8, MPI_BYTE, 1, pair); }

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  data = malloc(kBytes);
  memset(data, 1, kBytes);
  MPI_Comm_split(MPI_COMM_WORLD, check_rank == 2, 0, &pair);
  serve_third("short sends, receives", kShort, 8, send_named, receive_named);
  serve_third("a long send, receives", 1, kBytes, send_named, receive_named);
  serve_third("short sends, broadcasts", kShort, 8, bcast, bcast);
  serve_third("a long send, broadcasts", 1, kBytes, bcast, bcast);
  MPI_Comm_free(&pair);
  free(data);
  return check_end();
}
