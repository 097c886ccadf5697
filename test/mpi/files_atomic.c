/* Atomic mode: all ranks write and read the same pieces of a file at once, each access filled with one byte.
 * Whoever reads finds all of one access and nothing of another, also where the accesses of one rank are under
 * way together.
 * files_atomic [rounds [folder [shortest piece]]]  ranks: 1 2 3 5 variants: none */
#include <string.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK_CALL(call)

enum { kBytes = 200000, kWays = 4 };

static MPI_File file;

/* Pieces of so many bytes, with as many between; 0: all in one. */
static void set_view(int piece) {
  MPI_Datatype type = MPI_BYTE;
  if (piece > 0) {
    MPI_Type_vector(kBytes / piece + 1, piece, 2 * piece, MPI_BYTE, &type);
    MPI_Type_commit(&type);
  }
  OK(MPI_File_set_view(file, 7, MPI_BYTE, type, "native", MPI_INFO_NULL));
  if (piece > 0) MPI_Type_free(&type);
}

static void check_uniform(const unsigned char* data, int piece, int way) {
  for (int i = 1; i < kBytes; ++i)
    CHECK(data[i] == data[0], "byte %d is %d, the first %d; pieces of %d, way %d", i, data[i], data[0], piece,
          way);
}

static void one_round(int round, int piece, int way) {
  static unsigned char mine[kBytes], found[kBytes];
  MPI_Request request;
  MPI_Status status;
  int count = -1;
  memset(mine, 1 + (round * check_size + check_rank) % 255, kBytes);
  switch (way) {
    case 0:
      OK(MPI_File_write_at(file, 0, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
      OK(MPI_File_read_at(file, 0, found, kBytes, MPI_BYTE, &status));
      break;
    case 1: /* half of the ranks do this, half the other */
      if (round % 2 == check_rank % 2) {
        OK(MPI_File_write_at(file, 0, mine, kBytes, MPI_BYTE, &status));
        memcpy(found, mine, kBytes);
      } else {
        OK(MPI_File_read_at(file, 0, found, kBytes, MPI_BYTE, &status));
      }
      break;
    case 2: /* the thread writes while the program reads */
      OK(MPI_File_iwrite_at(file, 0, mine, kBytes, MPI_BYTE, &request));
      OK(MPI_File_read_at(file, 0, found, kBytes, MPI_BYTE, &status));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      break;
    default:
      OK(MPI_File_write_at_all(file, 0, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
      OK(MPI_File_read_at_all(file, 0, found, kBytes, MPI_BYTE, &status));
  }
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == kBytes, "%d bytes; pieces of %d, way %d", count, piece, way);
  check_uniform(found, piece, way);
}

int main(int argc, char** argv) {
  static const int pieces[] = {0, 8, 64, 5000};
  static unsigned char zeros[2 * kBytes + 10000];
  char path[256];
  int flag = 0;
  check_start(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 12;
  int job = (int)getpid();
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin-files-atomic-%d", argc > 2 ? argv[2] : check_folder(), job);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  OK(MPI_File_set_atomicity(file, 1));
  OK(MPI_File_get_atomicity(file, &flag));
  CHECK(flag, " ");
  for (int p = 0; p < 4; ++p) {
    if (pieces[p] > 0 && argc > 3 && pieces[p] < atoi(argv[3])) continue;
    set_view(0);
    if (check_rank == 0) OK(MPI_File_write_at(file, 0, zeros, sizeof zeros, MPI_BYTE, MPI_STATUS_IGNORE));
    set_view(pieces[p]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int way = 0; way < kWays; ++way) {
      for (int round = 0; round < rounds; ++round) one_round(round, pieces[p], way);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  OK(MPI_File_close(&file));
  return check_end();
}
