/* Two large messages that wait behind a full ring, while the receive of the first waits already: what belongs
   to the first must not come behind the second.
   ranks: 2 */
#include <string.h>
#include <time.h>

#include "check.h"

enum { kRounds = 40, kFill = 600, kMost = 128 << 10 };

static const int first_bytes[] = {64 << 10, 128 << 10, 96 << 10, 20 << 10};
static const int second_bytes[] = {64 << 10, 48 << 10, 128 << 10, 70 << 10};

static unsigned char content(int round, int which, int i) {
  return (unsigned char)(round * 29 + which * 101 + i + (i >> 8) * 3);
}

static void check_data(const unsigned char* data, int round, int which, int bytes) {
  for (int i = 0; i < bytes; ++i)
    CHECK(data[i] == content(round, which, i), "round %d: byte %d of message %d of %d bytes", round, i, which,
          bytes);
}

/* What fills the ring leaves at once, what comes behind it waits for the receiver. */
static void send_behind_full_ring(unsigned char* data[2], const int bytes[2], int round) {
  static MPI_Request requests[kFill + 2];
  for (int which = 0; which < 2; ++which)
    for (int i = 0; i < bytes[which]; ++i) data[which][i] = content(round, which, i);
  for (int i = 0; i < kFill; ++i) MPI_Isend(&round, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[i]);
  for (int which = 0; which < 2; ++which)
    MPI_Isend(data[which], bytes[which], MPI_BYTE, 1, 1 + which, MPI_COMM_WORLD, &requests[kFill + which]);
  MPI_Waitall(kFill + 2, requests, MPI_STATUSES_IGNORE);
}

static void receive_late(unsigned char* data[2], const int bytes[2], int round) {
  const struct timespec late = {0, 2000000};
  nanosleep(&late, NULL);
  for (int i = 0, word; i < kFill; ++i) {
    MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(word == round, "%d in round %d", word, round);
  }
  for (int which = 0; which < 2; ++which)
    MPI_Recv(data[which], bytes[which], MPI_BYTE, 0, 1 + which, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int which = 0; which < 2; ++which) check_data(data[which], round, which, bytes[which]);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  unsigned char* data[2];
  for (int which = 0; which < 2; ++which) MPI_Alloc_mem(kMost, MPI_INFO_NULL, &data[which]);
  for (int round = 0; round < kRounds; ++round) {
    const int bytes[2] = {first_bytes[round % 4], second_bytes[round % 4]};
    if (check_rank == 0)
      send_behind_full_ring(data, bytes, round);
    else
      receive_late(data, bytes, round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int which = 0; which < 2; ++which) MPI_Free_mem(data[which]);
  return check_end();
}
