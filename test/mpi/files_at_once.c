/* Several nonblocking collective accesses of one file that are under way at once, and a blocking one behind
 * them: each moves its own bytes.  Pieces of the ranks lie between each other, and all go together, through
 * shared windows. ranks: 1 2 3 5 variants: none */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

enum { OPS = 4, PIECES = 6000, PIECE = 8, BYTES = PIECES * PIECE };

static unsigned char written[OPS][BYTES], found[OPS][BYTES];

static MPI_Offset place(int op) { return (MPI_Offset)op * BYTES; }

static MPI_Info hints(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_Info_set(info, "cb_buffer_size", "16384");
  return info;
}

static MPI_File open_interleaved(const char* name, int rank, int size) {
  MPI_Info info = hints();
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  MPI_File file;
  OK(MPI_File_open(MPI_COMM_WORLD, name, mode, info, &file));
  MPI_Datatype piece, type;
  MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)PIECE * size, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_BYTE, type, "native", info));
  MPI_Type_free(&piece);
  MPI_Type_free(&type);
  MPI_Info_free(&info);
  return file;
}

static void read_all_at_once(MPI_File file) {
  MPI_Request requests[OPS - 1];
  memset(found, 0, sizeof found);
  for (int op = 0; op < OPS - 1; ++op)
    OK(MPI_File_iread_at_all(file, place(op), found[op], BYTES, MPI_BYTE, &requests[op]));
  OK(MPI_File_read_at_all(file, place(OPS - 1), found[OPS - 1], BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Waitall(OPS - 1, requests, MPI_STATUSES_IGNORE);
  for (int op = 0; op < OPS; ++op) CHECK(memcmp(written[op], found[op], BYTES) == 0, "access %d", op);
}

static void write_all_at_once(MPI_File file) {
  MPI_Request requests[OPS - 1];
  for (int op = 0; op < OPS - 1; ++op)
    OK(MPI_File_iwrite_at_all(file, place(op), written[op], BYTES, MPI_BYTE, &requests[op]));
  OK(MPI_File_write_at_all(file, place(OPS - 1), written[OPS - 1], BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Waitall(OPS - 1, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int rank = check_rank, size = check_size;
  char name[64];
  snprintf(name, sizeof name, "files_at_once.%d", (int)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int round = 0; round < 3; ++round) {
    MPI_File file = open_interleaved(name, rank, size);
    for (int op = 0; op < OPS; ++op)
      for (int i = 0; i < BYTES; ++i) written[op][i] = (unsigned char)(i * 7 + op * 31 + rank * 101 + round);
    write_all_at_once(file);
    memset(found, 0, sizeof found);
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int op = 0; op < OPS; ++op)
      OK(MPI_File_read_at(file, place(op), found[op], BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int op = 0; op < OPS; ++op) CHECK(memcmp(written[op], found[op], BYTES) == 0, "access %d", op);
    read_all_at_once(file);
    MPI_File_close(&file);
  }
  return check_end();
}
