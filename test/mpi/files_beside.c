/* Short pieces that are written by windows of the file, alone and together, while others write one by one
 * into the holes of these windows, by two other opens of the same file, which were there before or come
 * after. No byte is lost. files_beside [rounds [file]] ranks: 1 2 3 5 variants: none */
#include <string.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

/* Of a block of the file each rank has a piece that it writes with its others, and a hole of its own. */
enum { kPiece = 16, kBlocks = 20000, kHoles = 600, kBytes = kPiece * kBlocks };

static MPI_File strided, same, second; /* the last of this rank alone, and write-only */
static MPI_Offset block_bytes;

static unsigned char byte_of(int round, int rank, int i) {
  return (unsigned char)(1 + (round * 5 + rank * 37 + i * 11) % 255);
}

static int hole_block(int round, int i) { return (int)((i * 7919LL + round * 131LL) % kBlocks); }

static MPI_Offset hole_at(int block, int half) {
  return block * block_bytes + (MPI_Offset)kPiece * check_size + check_rank * kPiece + half * (kPiece / 2);
}

static MPI_File open_file(MPI_Comm comm, const char* name, int mode) {
  MPI_File file;
  OK(MPI_File_open(comm, name, mode | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  return file;
}

static void open_others(const char* name) {
  same = open_file(MPI_COMM_WORLD, name, MPI_MODE_RDWR);
  second = open_file(MPI_COMM_SELF, name, MPI_MODE_WRONLY);
}

static void open_all(const char* name, int are_before) {
  strided = open_file(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  if (are_before) open_others(name);
  MPI_Datatype piece, type;
  MPI_Type_contiguous(kPiece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)block_bytes, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(strided, (MPI_Offset)kPiece * check_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  MPI_Type_free(&piece);
  MPI_Type_free(&type);
  if (!are_before) open_others(name);
}

/* Half of a hole by each of the two opens. */
static void write_holes(int round) {
  for (int i = 0; i < kHoles; ++i) {
    const int block = hole_block(round, i);
    unsigned char data[kPiece];
    memset(data, byte_of(round, check_rank, block), kPiece);
    OK(MPI_File_write_at(second, hole_at(block, 0), data, kPiece / 2, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at(same, hole_at(block, 1), data, kPiece / 2, MPI_BYTE, MPI_STATUS_IGNORE));
  }
}

static void check_holes(int round) {
  for (int i = 0; i < kHoles; ++i) {
    const int block = hole_block(round, i);
    unsigned char data[kPiece];
    OK(MPI_File_read_at(same, hole_at(block, 0), data, kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int k = 0; k < kPiece; ++k)
      CHECK(data[k] == byte_of(round, check_rank, block), "round %d, block %d, byte %d is %d, not %d", round,
            block, k, data[k], byte_of(round, check_rank, block));
  }
}

static void check_pieces(int round, const unsigned char* mine) {
  static unsigned char found[kBytes];
  OK(MPI_File_read_at(strided, 0, found, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < kBytes; ++i)
    CHECK(found[i] == mine[i], "round %d, byte %d is %d, not %d", round, i, found[i], mine[i]);
}

static void run(int round) {
  static unsigned char mine[kBytes];
  for (int i = 0; i < kBytes; ++i) mine[i] = byte_of(round, check_rank, i);
  if (round % 4 == 0) OK(MPI_File_set_size(strided, 0)); /* then windows lie behind the end */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request request;
  if (round % 2 == 0)
    OK(MPI_File_iwrite_at(strided, 0, mine, kBytes, MPI_BYTE, &request));
  else
    OK(MPI_File_iwrite_at_all(strided, 0, mine, kBytes, MPI_BYTE, &request));
  write_holes(round);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  check_pieces(round, mine);
  check_holes(round);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 24;
  char name[200];
  snprintf(name, sizeof name, "%s.%d", argc > 2 ? argv[2] : "files_beside", (int)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  block_bytes = (MPI_Offset)kPiece * 2 * check_size;
  for (int half = 0; half < 2; ++half) {
    open_all(name, half);
    for (int round = 0; round < rounds / 2; ++round) run(round);
    OK(MPI_File_close(&same));
    OK(MPI_File_close(&second));
    OK(MPI_File_close(&strided));
  }
  return check_end();
}
