/* Ranks that make a file longer together, each alone and at its own pace, by short pieces between those of
 * the others: no byte is lost.  One rank keeps the disk busy, so that what the file system does between two
 * steps takes long.  The file lies where the program runs, on a disk where that is one. files_grow [rounds
 * [file]] ranks: 1 2 3 5 8 variants: none */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

enum { kPiece = 4, kSteps = 40, kStepPieces = 12, kPieces = kSteps * kStepPieces, kBytes = kPiece * kPieces };

static unsigned char byte_of(int round, int rank, int i) {
  return (unsigned char)(1 + (round * 5 + rank * 37 + i * 11) % 255);
}

static void check_all(MPI_File file, int round) {
  static unsigned char found[kBytes];
  MPI_Offset bytes = 0;
  OK(MPI_File_get_size(file, &bytes));
  CHECK(bytes == (MPI_Offset)kBytes * check_size, "round %d: %lld bytes", round, (long long)bytes);
  OK(MPI_File_read_at(file, 0, found, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < kBytes; ++i)
    CHECK(found[i] == byte_of(round, check_rank, i), "round %d, byte %d is %d, not %d", round, i, found[i],
          byte_of(round, check_rank, i));
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 60;
  char name[200];
  snprintf(name, sizeof name, "%s.%d", argc > 2 ? argv[2] : "files_grow", (int)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File file;
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  MPI_Datatype piece, type;
  MPI_Type_contiguous(kPiece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)kPiece * check_size, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, (MPI_Offset)kPiece * check_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  const int descriptor = open(name, O_RDWR);
  for (int round = 0; round < rounds; ++round) {
    static unsigned char mine[kBytes];
    for (int i = 0; i < kBytes; ++i) mine[i] = byte_of(round, check_rank, i);
    OK(MPI_File_set_size(file, 0));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 0; step < kSteps; ++step) {
      const int at = step * kStepPieces * kPiece;
      OK(MPI_File_write_at(file, at, mine + at, kStepPieces * kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
      if (step % 8 == 0 && (step / 8 + round) % check_size == check_rank) fdatasync(descriptor);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(file, round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  close(descriptor);
  MPI_Type_free(&piece);
  MPI_Type_free(&type);
  OK(MPI_File_close(&file));
  return check_end();
}
