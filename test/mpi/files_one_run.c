/* Collective calls that move one run of the file on some ranks: these do not wait for the others where no
 * rank has short runs, and every byte arrives, whatever each rank has in a call. Views whose runs are all
 * long write without locks.
 *
 * ranks: 1 2 3 5 8 variants: none */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

enum { kPiece = 4096, kCalls = 300, kMost = 40 };

static char path[256];
static MPI_File file;
static unsigned char data[kMost * kPiece];

/* Pieces of all ranks in turn, or such that rank 0 has some that are shorter than the others'. */
static void set_view(int piece, int has_short) {
  MPI_Datatype pieces, type;
  int lengths[2] = {has_short && check_rank == 0 ? 1 : piece, piece};
  MPI_Aint starts[2] = {0, (MPI_Aint)piece * check_size};
  MPI_Type_create_hindexed(2, lengths, starts, MPI_BYTE, &pieces);
  MPI_Type_create_resized(pieces, 0, 2 * starts[1], &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, (MPI_Offset)piece * check_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  MPI_Type_free(&pieces);
  MPI_Type_free(&type);
}

/* Whether somebody holds the lock of those who may change windows of the file (docs/files.md). */
static int may_change_windows(void) {
  struct flock last = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = INT64_MAX, .l_len = 1};
  const int descriptor = open(path, O_RDWR);
  CHECK(fcntl(descriptor, F_OFD_GETLK, &last) == 0, "no such locks");
  close(descriptor);
  MPI_Barrier(MPI_COMM_WORLD);
  return last.l_type != F_UNLCK;
}

/* The first rank comes back before the others have come. */
static void nobody_waits(void) {
  int is_through = 0;
  memset(data, 1 + check_rank, kPiece);
  for (int is_read = 0; is_read < 2; ++is_read) {
    if (check_rank > 0)
      MPI_Recv(&is_through, 1, MPI_INT, check_rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is_read)
      OK(MPI_File_read_at_all(file, 0, data, kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
    else
      OK(MPI_File_write_at_all(file, 0, data, kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
    if (check_rank + 1 < check_size) MPI_Send(&is_through, 1, MPI_INT, check_rank + 1, 0, MPI_COMM_WORLD);
    CHECK(data[0] == 1 + check_rank && data[kPiece - 1] == 1 + check_rank, "%d", data[0]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static int number_of(int call, int rank) { /* of pieces: one, none or many */
  const unsigned random = ((unsigned)call * 31 + (unsigned)rank) * 2654435761u >> 16;
  if (call % 7 == 0) return kMost; /* of all ranks at once */
  return random % 4 == 0 ? 0 : random % 4 == 1 ? 1 + (int)(random / 4 % kMost) : 1;
}

static unsigned char byte_of(long piece, int at, int rank) {
  return (unsigned char)(piece * 13 + at / 64 + rank * 101);
}

static void move(int is_read, int is_nonblocking, long from, int bytes) {
  MPI_Request request;
  MPI_Status status;
  int count = -1;
  const MPI_Offset offset = from * kPiece;
  if (is_nonblocking) {
    OK(is_read ? MPI_File_iread_at_all(file, offset, data, bytes, MPI_BYTE, &request)
               : MPI_File_iwrite_at_all(file, offset, data, bytes, MPI_BYTE, &request));
    OK(MPI_Wait(&request, &status));
  } else {
    OK(is_read ? MPI_File_read_at_all(file, offset, data, bytes, MPI_BYTE, &status)
               : MPI_File_write_at_all(file, offset, data, bytes, MPI_BYTE, &status));
  }
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == bytes, "%d of %d bytes", count, bytes);
}

static void all_arrives(int is_nonblocking) {
  for (int is_read = 0; is_read < 2; ++is_read) {
    long from = 0;
    for (int call = 0; call < kCalls; ++call) {
      const int n = number_of(call, check_rank);
      for (int i = 0; i < n * kPiece; ++i)
        data[i] = is_read ? 0 : byte_of(from + i / kPiece, i % kPiece, check_rank);
      if (call % 50 == check_rank) usleep(2000); /* the others run ahead */
      move(is_read, is_nonblocking && call % 3 == 0, from, n * kPiece);
      for (int i = 0; i < n * kPiece; ++i)
        CHECK(data[i] == byte_of(from + i / kPiece, i % kPiece, check_rank), "call %d, byte %d is %d", call,
              i, data[i]);
      from += n;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  int job = (int)getpid();
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin-files-one-run-%d", check_folder(), job);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  set_view(kPiece, 0);
  CHECK(!may_change_windows(), "windows of long runs");
  if (!getenv("DUNLIN_NODES") && !getenv("DUNLIN_P2P")) nobody_waits(); /* within a node */
  for (int is_nonblocking = 0; is_nonblocking < 2; ++is_nonblocking) all_arrives(is_nonblocking);
  set_view(kPiece, 1);
  CHECK(may_change_windows(), "one rank has short runs");
  all_arrives(1);
  set_view(64, 0);
  CHECK(may_change_windows(), "short runs");
  OK(MPI_File_close(&file));
  return check_end();
}
