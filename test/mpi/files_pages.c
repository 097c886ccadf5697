/* Long pieces that ranks write at once where a file in memory has pages already: who is not alone writes
 * straight to the pages, but for the last of each piece; every byte arrives, also where the kernel refuses,
 * copies only a part, or the file is cut meanwhile; and the file counts as changed.
 *
 * ranks: 1 2 3 5 variants: none */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")
#define VISIBLE __attribute__((visibility("default")))

/* Longer than what is mapped at once; nothing begins or ends with a page. */
enum { kBytes = (3 << 20) + 1234, kDisp = 777, kRow = 600001, kRows = kBytes / kRow };
enum { kPage = 4096, kMapped = 1 << 20 };

static char path[256];
static char *mine, *back;
static MPI_File file;
static long written, copied; /* by pwrite and pwritev; by process_vm_readv */
static enum { kAll, kRefuse, kPart, kCut } does; /* what process_vm_readv does */
static int refused;
static int has_pages;  /* here the kernel finds pages of a file */
static volatile int* met; /* by rank: how many writes it has begun; shared by all */
static int turns;         /* so many should have begun; each is in the kernel then before any goes on */
static int is_meeting, meeting_ranks;

static long all_bytes(const struct iovec* pieces, int count) {
  long bytes = 0;
  for (int i = 0; i < count; ++i) bytes += (long)pieces[i].iov_len;
  return bytes;
}

static void wait_for(int rank) {
  for (int i = 0; met[rank] < turns; ++i) {
    CHECK(i < 200000, "rank %d does not write", rank);
    usleep(100);
  }
}

/* In the first call of a rank's write. */
static void meet(void) {
  if (!is_meeting) return;
  is_meeting = 0;
  met[check_rank] = turns;
  for (int rank = 0; rank < meeting_ranks; ++rank) wait_for(rank);
}

/* So many ranks write at once, the first before the others. */
static void begin_meeting(int ranks) {
  MPI_Barrier(MPI_COMM_WORLD);
  ++turns;
  meeting_ranks = ranks;
  is_meeting = has_pages && check_rank < ranks;
  if (is_meeting && check_rank > 0) wait_for(0);
}

VISIBLE ssize_t pwritev(int descriptor, const struct iovec* pieces, int count, off_t at) {
  if (all_bytes(pieces, count) > kPage) meet();
  written += all_bytes(pieces, count);
  return pwritev2(descriptor, pieces, count, at, 0);
}

VISIBLE ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t at) {
  const struct iovec piece = {(void*)data, bytes};
  return pwritev(descriptor, &piece, 1, at);
}

/* Of the library's own memory; what it copies between ranks, it may. */
VISIBLE ssize_t process_vm_readv(pid_t process, const struct iovec* to, unsigned long n,
                                 const struct iovec* from, unsigned long m, unsigned long flags) {
  struct iovec part = *to;
  if (process == getpid()) meet();
  if (process == getpid() && does == kRefuse) {
    ++refused;
    errno = EPERM;
    return -1;
  }
  if (process == getpid() && does == kPart) part.iov_len /= 2;
  const int is_cut = process == getpid() && does == kCut;
  if (is_cut) { /* nothing is left from the middle of what is mapped on */
    CHECK(truncate(path, kDisp + (off_t)check_rank * kBytes + 500000) == 0, "%s", strerror(errno));
    does = kAll;
  }
  const ssize_t moved = syscall(SYS_process_vm_readv, process, n == 1 ? &part : to, n, from, m, flags);
  if (process == getpid() && moved > 0) copied += moved;
  if (is_cut) CHECK(moved > 0 && moved <= 500000 + kPage, "%ld", (long)moved);
  return moved;
}

static char content(long i, int rank, int turn) { return (char)(i * 7 + i / 251 + rank * 37 + turn * 91); }

static void fill(int turn) {
  for (long i = 0; i < kBytes; ++i) mine[i] = content(i, check_rank, turn);
  written = copied = 0;
}

/* What the rank behind has written, as that has not been in this rank's memory. */
static void verify(MPI_Offset at, int rank, int turn, long bytes) {
  MPI_Barrier(MPI_COMM_WORLD);
  memset(back, 0, kBytes);
  OK(MPI_File_read_at(file, at, back, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  for (long i = 0; i < bytes; ++i)
    CHECK(back[i] == content(i, rank, turn), "turn %d, byte %ld of rank %d", turn, i, rank);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void verify_neighbour(int turn) {
  const int other = (check_rank + 1) % check_size;
  verify((MPI_Offset)other * kBytes, other, turn, kBytes);
}

/* One long piece of each rank, one behind the other. */
static void write_long(int turn) {
  MPI_Status status;
  int bytes;
  fill(turn);
  begin_meeting(check_size);
  OK(MPI_File_write_at_all(file, (MPI_Offset)check_rank * kBytes, mine, kBytes, MPI_BYTE, &status));
  CHECK(written + copied == kBytes, "%ld and %ld", written, copied);
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  CHECK(bytes == kBytes, "%d", bytes);
  verify_neighbour(turn);
}

static void check_ways(void) {
  struct stat before, after;
  write_long(0); /* the file has nothing there yet */
  stat(path, &before);
  usleep(20000); /* the kernel's clock of files */
  write_long(1);
  stat(path, &after);
  CHECK(before.st_mtim.tv_sec != after.st_mtim.tv_sec || before.st_mtim.tv_nsec != after.st_mtim.tv_nsec,
        "the file does not count as changed");
  if (has_pages && check_rank > 0) CHECK(copied >= kMapped, "%ld", copied);
  if (check_size == 1) CHECK(written == kBytes, "%ld: alone, pwrite is faster", written);
  does = kPart;
  write_long(2);
  does = kAll;
}

/* The second rank's writing has the file cut in its part, and the rest of the file is gone. */
static void check_cut(void) {
  const int ranks = check_size < 2 ? check_size : 2;
  fill(4);
  begin_meeting(ranks);
  if (check_rank == 1) does = kCut;
  OK(MPI_File_write_at_all(file, (MPI_Offset)check_rank * kBytes, mine, check_rank < ranks ? kBytes : 0,
                           MPI_BYTE, MPI_STATUS_IGNORE));
  does = kAll;
  if (has_pages && check_rank == 1) CHECK(copied > 0 && copied < kBytes - kPage, "%ld", copied);
  if (check_rank < ranks) CHECK(written + copied == kBytes, "%ld and %ld", written, copied);
  for (int rank = 0; rank < ranks; ++rank) verify((MPI_Offset)rank * kBytes, rank, 4, kBytes);
}

/* A rank that writes alone in a collective call does so by pwrite. */
static void check_lone(void) {
  fill(5);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_write_at_all(file, 0, mine, check_rank == 0 ? kBytes : 0, MPI_BYTE, MPI_STATUS_IGNORE));
  if (check_rank == 0) CHECK(written == kBytes, "%ld", written);
  verify(0, 0, 5, kBytes);
}

/* Runs of a view, which lie in turn. */
static void check_view(void) {
  MPI_Datatype row, type;
  MPI_Type_contiguous(kRow, MPI_BYTE, &row);
  MPI_Type_create_resized(row, 0, (MPI_Aint)kRow * check_size, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, kDisp + (MPI_Offset)kRow * check_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  for (int turn = 6; turn < 8; ++turn) {
    fill(turn);
    begin_meeting(check_size);
    OK(MPI_File_write_at_all(file, 0, mine, kRow * kRows, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(written + copied == (long)kRow * kRows, "%ld and %ld", written, copied);
  verify(0, check_rank, 7, (long)kRow * kRows);
  MPI_Type_free(&row);
  MPI_Type_free(&type);
}

/* Independent calls; in atomic mode nobody else writes there. */
static void check_independent(void) {
  OK(MPI_File_set_view(file, kDisp, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  for (int turn = 8; turn < 10; ++turn) {
    fill(turn);
    begin_meeting(check_size);
    OK(MPI_File_write_at(file, (MPI_Offset)check_rank * kBytes, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    verify_neighbour(turn);
  }
  if (has_pages && check_rank > 0) CHECK(copied >= kMapped, "%ld", copied);
  OK(MPI_File_set_atomicity(file, 1));
  fill(10);
  OK(MPI_File_write_at(file, (MPI_Offset)check_rank * kBytes, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  verify_neighbour(10);
}

/* As in a container that forbids it, which is found out once. */
static void check_refused(void) {
  OK(MPI_File_set_atomicity(file, 0));
  does = kRefuse;
  for (int turn = 11; turn < 13; ++turn) {
    write_long(turn);
    CHECK(written == kBytes, "%ld", written);
  }
  if (has_pages && check_rank > 0) CHECK(refused == 1, "tried %d times", refused);
}

int main(int argc, char** argv) {
  int job = (int)getpid();
  check_start(&argc, &argv);
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin-files-pages-%d", check_folder(), job);
  mine = malloc(kBytes);
  back = malloc(kBytes);
  void* const page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  has_pages = check_is_one_node() && madvise(page, kPage, MADV_POPULATE_READ) == 0;
  MPI_Win window = MPI_WIN_NULL;
  if (has_pages) {
    MPI_Aint bytes;
    int unit;
    void* at;
    MPI_Win_allocate_shared(check_rank == 0 ? check_size * (int)sizeof(int) : 0, sizeof(int), MPI_INFO_NULL,
                            MPI_COMM_WORLD, &at, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &at);
    met = at;
    if (check_rank == 0) memset(at, 0, (size_t)bytes);
  }
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  OK(MPI_File_set_view(file, kDisp, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  check_ways();
  check_cut();
  check_lone();
  check_view();
  check_independent();
  check_refused();
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
  OK(MPI_File_close(&file));
  munmap(page, kPage);
  free(mine);
  free(back);
  return check_end();
}
