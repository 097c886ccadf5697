/* New files in memory, whose parts that are written whole become large pages: every byte arrives and the
 * file is no longer than what was written, for long and short pieces, alone and together, where memory lies
 * anywhere beside its place in the file, where parts are there before, and where the file is cut in between.
 * Groups of short pieces that lie far apart, and a small part of views that leave nothing out, take no more
 * memory than before. Pieces that each rank writes alone make large pages where the views of all leave
 * nothing out, and go straight to those.
 *
 * ranks: 1 2 3 5 variants: none */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

enum { kBytes = 5 << 20, kApart = 48 };

static char* memory;
static MPI_File file;

static long listed; /* bytes that went to several places of a file */

__attribute__((visibility("default"))) ssize_t process_vm_readv(pid_t process, const struct iovec* to,
                                                                unsigned long n, const struct iovec* from,
                                                                unsigned long m, unsigned long flags) {
  const ssize_t moved = syscall(SYS_process_vm_readv, process, to, n, from, m, flags);
  if (n > 1 && moved > 0) listed += moved;
  return moved;
}

/* Whether this kernel does so. */
static int makes_large_pages(void) {
  enum { kLarge = 2 << 20, kCollapse = 25 };
  const int descriptor = memfd_create("try", 0);
  char* const all = mmap(NULL, 2 * kLarge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const at = all + -(size_t)all % kLarge;
  char byte = 1;
  const struct iovec to = {at, 1}, from = {&byte, 1};
  const int does = ftruncate(descriptor, kLarge) == 0 && pwrite(descriptor, "", 1, 0) == 1 &&
                   mmap(at, kLarge, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0) == at &&
                   madvise(at, kLarge, kCollapse) == 0 &&
                   process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
  munmap(all, 2 * kLarge);
  close(descriptor);
  return does;
}

static char content(long i, int rank, int turn) { return (char)(i * 7 + i / 251 + rank * 37 + turn * 91); }

/* Pieces of `piece` bytes of all ranks in turn, from `disp` on, `bytes` of each rank. */
static void check_pieces(int piece, int bytes, int disp, int is_collective, int turn) {
  MPI_Datatype vector, type;
  MPI_Offset size;
  MPI_Status status;
  int count;
  char* const at = memory + turn * 16 % kApart;
  const int other = (check_rank + 1) % check_size;
  MPI_Type_vector(bytes / piece, piece, piece * check_size, MPI_BYTE, &vector);
  MPI_Type_create_resized(vector, 0, (MPI_Aint)bytes * check_size, &type);
  MPI_Type_commit(&type);
  for (int again = 0; again < 2; ++again) {
    for (long i = 0; i < bytes; ++i) at[i] = content(i, check_rank, turn + again);
    const MPI_Offset from = disp + (MPI_Offset)check_rank * piece;
    OK(MPI_File_set_view(file, from, MPI_BYTE, type, "native", MPI_INFO_NULL));
    if (is_collective)
      OK(MPI_File_write_at_all(file, 0, at, bytes, MPI_BYTE, &status));
    else
      OK(MPI_File_write_at(file, 0, at, bytes, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == bytes, "%d", count);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_size(file, &size));
    CHECK(size == disp + (MPI_Offset)bytes * check_size, "pieces of %d: %lld", piece, (long long)size);
    memset(at, 0, (size_t)bytes);
    OK(MPI_File_set_view(file, disp + (MPI_Offset)other * piece, MPI_BYTE, type, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at_all(file, 0, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    for (long i = 0; i < bytes; ++i)
      CHECK(at[i] == content(i, other, turn + again), "pieces of %d, byte %ld", piece, i);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Type_free(&vector);
  MPI_Type_free(&type);
}

/* Groups of short pieces, `apart` from one to the next, each of which takes a page or two. */
static void check_groups(const char* path, MPI_Aint apart, int is_collective) {
  enum { kGroups = 12, kPieces = 256, kPiece = 8 };
  const long bytes = (long)kGroups * kPieces * kPiece, pages = 2 * kGroups * check_size;
  MPI_Datatype group, type;
  struct stat status;
  MPI_Type_vector(kPieces, kPiece, 2 * kPiece, MPI_BYTE, &group);
  MPI_Type_create_hvector(kGroups, 1, apart, group, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_size(file, 0));
  OK(MPI_File_set_view(file, kGroups * apart * check_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  if (is_collective)
    OK(MPI_File_write_at_all(file, 0, memory, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  else
    OK(MPI_File_write_at(file, 0, memory, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(stat(path, &status) == 0, " ");
  CHECK(status.st_blocks / 8 <= pages, "%ld pages for groups of a page, %ld apart",
        (long)status.st_blocks / 8, (long)apart);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&group);
  MPI_Type_free(&type);
}

/* Of views that leave nothing out, some tiles of the last rank: a piece at the end of each. */
static void check_little(const char* path, int piece, MPI_Aint apart, int first, int tiles) {
  const int is_first = check_rank == 0, is_last = check_rank == check_size - 1;
  const MPI_Aint others = (MPI_Aint)piece * (check_size - 1);
  MPI_Datatype block, type;
  struct stat status;
  if (check_size == 1) return;
  OK(MPI_File_set_size(file, 0));
  MPI_Type_contiguous(is_first ? (int)(apart - others) : piece, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, apart, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, is_first ? 0 : apart - (MPI_Aint)piece * (check_size - check_rank), MPI_BYTE,
                       type, "native", MPI_INFO_NULL));
  if (is_last)
    OK(MPI_File_write_at(file, (MPI_Offset)first * piece, memory, tiles * piece, MPI_BYTE,
                         MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(stat(path, &status) == 0, " ");
  CHECK(status.st_blocks / 8 <= 4 * tiles, "%ld pages for %d pieces of %d bytes, %ld apart",
        (long)status.st_blocks / 8, tiles, piece, (long)apart);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&block);
  MPI_Type_free(&type);
}

/* Pages that each rank writes alone, those of all ranks in turn, and room for `others` more. */
static void check_views(int others) {
  enum { kPage = 4096, kPages = kBytes / kPage };
  MPI_Datatype type;
  OK(MPI_File_set_size(file, 0));
  MPI_Type_vector(kPages, kPage, kPage * (check_size + others), MPI_BYTE, &type);
  MPI_Type_create_resized(type, 0, (MPI_Aint)kPages * kPage * (check_size + others), &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, (MPI_Offset)kPage * check_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  for (int turn = 0; turn < 2; ++turn) {
    listed = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_write_at(file, 0, memory, kPages * kPage, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  /* With 8 ranks the pages of one lie too far apart. */
  const int wanted = others == 0 && check_size > 1 && check_size < 8 && makes_large_pages();
  CHECK(wanted ? listed > kBytes / 2 : others == 0 || listed == 0, "%ld bytes with %d others", listed,
        others);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  static const int pieces[] = {kBytes, 64, 4096, 24, 1 << 16}, disps[] = {0, 8, 4080, 3000000};
  char path[256];
  int job = (int)getpid(), turn = 0;
  check_start(&argc, &argv);
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin-files-large-%d", check_folder(), job);
  memory = malloc(kBytes + kApart);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  for (int p = 0; p < 5; ++p)
    for (int d = 0; d < 4; ++d, ++turn) {
      /* Of the file before only this is left. */
      OK(MPI_File_set_size(file, turn % 3 == 0 ? 0 : turn % 3 * 1000000));
      check_pieces(pieces[p], kBytes / pieces[p] * pieces[p], disps[d], turn % 2, turn);
    }
  for (int is_collective = 0; is_collective < 2; ++is_collective) {
    check_groups(path, 4 << 20, is_collective);
    check_groups(path, 300000, is_collective);
  }
  check_little(path, 8, 4 << 20, 0, 12);
  check_little(path, 4096, 1 << 16, 31, 1); /* up to where a large page ends */
  check_little(path, 64, 8192, 254, 2);     /* by a window */
  check_views(1);
  check_views(0);
  OK(MPI_File_close(&file));
  free(memory);
  return check_end();
}
