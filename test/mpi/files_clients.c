/* What ranks see of each other's writes where several machines share a file system and each keeps pages and
 * lengths of its own, as NFS does: with the calls to MPI_File_sync that the standard asks for, everything;
 * neighbours in the same page lose nothing; each rank sees what it has written itself, together or alone.
 * files_clients [folder [rounds [nfs]]]: with "nfs" the library believes that the file system is one. */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, "round %d", round_number)

enum { kPiece = 64, kPieces = 100, kBlock = 10007, kBytesMax = 1 << 20 };
static int round_number;
static char folder[200], path[256];
static unsigned char mine[kBytesMax], found[kBytesMax];

static int is_claimed;

__attribute__((visibility("default"))) int fstatfs(int descriptor, struct statfs* system) {
  char proc[64];
  snprintf(proc, sizeof proc, "/proc/self/fd/%d", descriptor);
  const int result = statfs(proc, system);
  if (is_claimed) system->f_type = NFS_SUPER_MAGIC;
  return result;
}

static unsigned char byte_of(int rank, int i) {
  return (unsigned char)(1 + (rank * 37 + i * 11 + round_number * 5) % 255);
}

static void sync_all(MPI_File file) {
  OK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_sync(file));
}

/* Bytes of a file in pieces of all ranks in turn. */
static void check_pieces(MPI_File file, int piece, int pieces) {
  MPI_Status status;
  int count = -1;
  const int bytes = piece * pieces * check_size;
  CHECK(bytes <= kBytesMax, " ");
  OK(MPI_File_read_at(file, 0, found, bytes, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == bytes, "%d bytes of %d; round %d, pieces of %d", count, bytes, round_number, piece);
  for (int at = 0; at < bytes; ++at) {
    const int rank = at / piece % check_size, i = at / piece / check_size * piece + at % piece;
    CHECK(found[at] == byte_of(rank, i), "byte %d, of rank %d, is %d, not %d; round %d, pieces of %d", at,
          rank, found[at], byte_of(rank, i), round_number, piece);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A call for each piece; what was read before is in this machine's memory. */
static void write_pieces(MPI_File file) {
  for (int i = 0; i < kPieces; ++i)
    OK(MPI_File_write_at(file, (MPI_Offset)(i * check_size + check_rank) * kPiece, mine + i * kPiece, kPiece,
                         MPI_BYTE, MPI_STATUS_IGNORE));
  sync_all(file);
  check_pieces(file, kPiece, kPieces);
}

/* Blocks whose borders lie in a page. */
static void write_blocks(MPI_File file) {
  OK(MPI_File_write_at_all(file, (MPI_Offset)check_rank * kBlock, mine, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
  sync_all(file);
  check_pieces(file, kBlock, 1);
}

static void check_mine(void) {
  for (int i = 0; i < kPiece * kPieces; ++i)
    CHECK(found[i] == byte_of(check_rank, i), "byte %d is %d, not %d; round %d", i, found[i],
          byte_of(check_rank, i), round_number);
}

/* A rank's own bytes, written and read alone and by all together in turn, without a sync between. */
static void see_own(MPI_File file, const char* together) {
  MPI_Datatype piece, type;
  MPI_Info hints;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "romio_cb_write", together);
  MPI_Info_set(hints, "romio_cb_read", together);
  MPI_Type_contiguous(kPiece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)kPiece * check_size, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, (MPI_Offset)kPiece * check_rank, MPI_BYTE, type, "native", hints));
  for (int way = 0; way < 4; ++way) {
    for (int i = 0; i < kPiece * kPieces; ++i) mine[i] = byte_of(check_rank, i);
    memset(found, 0, sizeof found);
    if (way % 2 == 0)
      OK(MPI_File_write_at_all(file, 0, mine, kPiece * kPieces, MPI_BYTE, MPI_STATUS_IGNORE));
    else
      OK(MPI_File_write_at(file, 0, mine, kPiece * kPieces, MPI_BYTE, MPI_STATUS_IGNORE));
    if (way / 2 == 0)
      OK(MPI_File_read_at(file, 0, found, kPiece * kPieces, MPI_BYTE, MPI_STATUS_IGNORE));
    else
      OK(MPI_File_read_at_all(file, 0, found, kPiece * kPieces, MPI_BYTE, MPI_STATUS_IGNORE));
    check_mine();
    ++round_number;
  }
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  MPI_Type_free(&piece);
  MPI_Type_free(&type);
  MPI_Info_free(&hints);
}

/* Lengths are those of all at once; what was cut off is gone. */
static void change_size(MPI_File file) {
  MPI_Offset size = -1;
  OK(MPI_File_set_size(file, 5000));
  OK(MPI_File_get_size(file, &size));
  CHECK(size == 5000, "%lld bytes; round %d", (long long)size, round_number);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_preallocate(file, 9000));
  OK(MPI_File_get_size(file, &size));
  CHECK(size == 9000, "%lld bytes; round %d", (long long)size, round_number);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == check_size - 1)
    OK(MPI_File_write_at(file, 20000, mine, 7, MPI_BYTE, MPI_STATUS_IGNORE));
  sync_all(file);
  OK(MPI_File_get_size(file, &size));
  CHECK(size == 20007, "%lld bytes; round %d", (long long)size, round_number);
  OK(MPI_File_seek(file, 0, MPI_SEEK_END));
  OK(MPI_File_get_position(file, &size));
  CHECK(size == 20007, "the end is at %lld; round %d", (long long)size, round_number);
  OK(MPI_File_read_at(file, 5000, found, 15000, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < 15000; ++i)
    CHECK(found[i] == 0, "byte %d is %d; round %d", 5000 + i, found[i], round_number);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A file that this machine has just been told is not there; it goes when all have closed it, and without a
 * trace. */
static void make_and_delete(void) {
  MPI_File file;
  CHECK(access(path, F_OK) != 0, "round %d", round_number);
  MPI_Barrier(MPI_COMM_WORLD);
  const int mode = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  OK(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
  OK(MPI_File_write_at_all(file, (MPI_Offset)check_rank * kBlock, mine, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
  if (check_rank == check_size - 1) {
    usleep(300000);
    CHECK(access(path, F_OK) == 0, "the file is gone before all have closed it; round %d", round_number);
  }
  OK(MPI_File_close(&file));
  if (check_rank == 0) CHECK(access(path, F_OK) != 0, "round %d", round_number);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The last rank alone makes it: the others have just been told that it is not there. */
static void make_alone(void) {
  MPI_File file;
  (void)access(path, F_OK);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == check_size - 1) {
    OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_write(file, mine, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_File_read_at_all(file, 0, found, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < kBlock; ++i)
    CHECK(found[i] == byte_of(check_size - 1, i), "byte %d is %d; round %d", i, found[i], round_number);
  OK(MPI_File_close(&file));
}

/* Files that a client renames as it cannot delete them are gone, too. */
static void check_traces(void) {
  DIR* const all = opendir(folder);
  CHECK(all, "%s", folder);
  for (struct dirent* each; (each = readdir(all));)
    CHECK(strncmp(each->d_name, ".nfs", 4) != 0, "%s/%s", folder, each->d_name);
  closedir(all);
}

int main(int argc, char** argv) {
  MPI_File file;
  check_start(&argc, &argv);
  int job = (int)getpid();
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const int rounds = argc > 2 ? atoi(argv[2]) : 4;
  snprintf(folder, sizeof folder, "%s", argc > 1 ? argv[1] : check_folder());
  snprintf(path, sizeof path, "%s/dunlin-files-clients-%d", folder, job);
  is_claimed = argc > 3;
  for (int i = 0; i < kBytesMax; ++i) mine[i] = byte_of(check_rank, i);
  make_and_delete();
  make_alone();
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  for (; round_number < rounds; ++round_number) {
    for (int i = 0; i < kBytesMax; ++i) mine[i] = byte_of(check_rank, i);
    write_pieces(file);
    write_blocks(file);
    change_size(file);
  }
  see_own(file, "enable");
  see_own(file, "automatic");
  OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) OK(MPI_File_delete(path, MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  check_traces();
  return check_end();
}
