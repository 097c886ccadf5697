/* Many nonblocking reads at once: those of one piece are with the kernel together (io_uring, where it is to
 * be had), and come back whole or short at the end of the file; also beside writes, and after the program has
 * closed descriptors that are not its own.  Others are announced.
 *
 * ranks: 1 3 variants: none */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 65536, kPieces = 600 };

static MPI_File file;
static unsigned char *memory, *expected;
static MPI_Request requests[kPieces + 1];
static MPI_Status statuses[kPieces + 1];

static unsigned char byte_of(long at) { return (unsigned char)(1 + (at * 7 + at / 65521) % 255); }

/* Each piece once, in an order without a pattern, or every `step`-th only. */
static int begin_pieces(int step) {
  memset(memory, 0, (size_t)kPieces * kBytes);
  int n = 0;
  for (int i = 0; i < kPieces; i += step, ++n) {
    const int piece = (i * 7 + 11 + check_rank) % kPieces; /* 7 and 600 have no common factor */
    CHECK_CALL(MPI_File_iread_at(file, (MPI_Offset)piece * kBytes, memory + (size_t)piece * kBytes, kBytes,
                                 MPI_BYTE, &requests[n]));
  }
  return n;
}

static void end_pieces(int step, int n) {
  CHECK_CALL(MPI_Waitall(n, requests, statuses));
  for (int i = 0; i < n; ++i) {
    const int piece = (i * step * 7 + 11 + check_rank) % kPieces;
    int count = -1;
    MPI_Get_count(&statuses[i], MPI_BYTE, &count);
    CHECK(count == kBytes, "%d bytes of piece %d", count, piece);
    const size_t at = (size_t)piece * kBytes;
    CHECK(memcmp(memory + at, expected + at, kBytes) == 0, "piece %d is wrong", piece);
  }
}

static void read_pieces(int step) { end_pieces(step, begin_pieces(step)); }

/* Descriptors whose link says so; `number` is the last one. */
static int count_descriptors(const char* link, int* number) {
  DIR* const folder = opendir("/proc/self/fd");
  int found = 0;
  for (const struct dirent* entry; (entry = readdir(folder));) {
    char text[64] = "";
    if (readlinkat(dirfd(folder), entry->d_name, text, sizeof text - 1) < 0 || strcmp(text, link) != 0)
      continue;
    *number = atoi(entry->d_name);
    ++found;
  }
  closedir(folder);
  return found;
}

static int can_have_queue(void) {
#if __has_include(<liburing.h>) && defined SYS_io_uring_setup
  const char* const wanted = getenv("DUNLIN_FILE_QUEUE");
  char parameters[256] = {0};
  const long ring = syscall(SYS_io_uring_setup, 256, parameters);
  if (ring >= 0) close((int)ring);
  return ring >= 0 && dlopen("liburing.so.2", RTLD_NOW) && !(wanted && strcmp(wanted, "never") == 0);
#else
  return 0;
#endif
}

/* The last piece of the file is cut, and the reads there and behind are short. */
static void check_short(void) {
  const MPI_Offset size = (MPI_Offset)kPieces * kBytes;
  for (int i = 0; i < 4; ++i)
    CHECK_CALL(MPI_File_iread_at(file, size - 70000 + i * 35000, memory + i * kBytes, kBytes, MPI_BYTE,
                                 &requests[i]));
  CHECK_CALL(MPI_Waitall(4, requests, statuses));
  const int wanted[4] = {kBytes, 35000, 0, 0};
  for (int i = 0; i < 4; ++i) {
    int count = -1;
    MPI_Get_count(&statuses[i], MPI_BYTE, &count);
    CHECK(count == wanted[i], "%d bytes of read %d", count, i);
    CHECK(memcmp(memory + i * kBytes, expected + size - 70000 + i * 35000, (size_t)count) == 0, "read %d", i);
  }
}

/* Reads by the shared view's parts, a write under way, and the pieces one after the other as they end. */
static void check_beside_writes(void) {
  const MPI_Offset behind = (MPI_Offset)kPieces * kBytes;
  CHECK_CALL(MPI_File_iwrite_at(file, behind + (MPI_Offset)check_rank * kBytes, expected, kBytes, MPI_BYTE,
                                &requests[kPieces]));
  read_pieces(50);
  CHECK_CALL(MPI_Wait(&requests[kPieces], MPI_STATUS_IGNORE));
  int left = 40, index;
  for (int i = 0; i < left; ++i)
    CHECK_CALL(MPI_File_iread(file, memory + (size_t)i * kBytes, kBytes, MPI_BYTE, &requests[i]));
  while (left > 0) {
    int is_there = 0;
    CHECK_CALL(MPI_Testany(40, requests, &index, &is_there, MPI_STATUS_IGNORE));
    if (!is_there) continue;
    CHECK(memcmp(memory + (size_t)index * kBytes, expected + (size_t)index * kBytes, kBytes) == 0, "%d",
          index);
    --left;
  }
}

/* It has no offsets, so that nothing is read: neither waited for nor taken. */
static void check_pipe(const char* path) {
  char name[300] = "";
  MPI_File opened;
  int error_class, left = 0;
  snprintf(name, sizeof name, "%s.pipe%d", path, check_rank);
  CHECK(mkfifo(name, 0600) == 0, " ");
  const int end = open(name, O_RDWR);
  CHECK_CALL(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &opened));
  unlink(name);
  for (int is_filled = 0; is_filled < 2; ++is_filled) {
    CHECK_CALL(MPI_File_iread_at(opened, 0, memory, kBytes, MPI_BYTE, &requests[0]));
    MPI_Error_class(MPI_Wait(&requests[0], &statuses[0]), &error_class);
    CHECK(error_class == MPI_ERR_IO, "class %d", error_class);
    if (!is_filled) CHECK(write(end, name, sizeof name) == sizeof name, " ");
  }
  CHECK(ioctl(end, FIONREAD, &left) == 0 && left == sizeof name, "%d bytes in the pipe", left);
  CHECK_CALL(MPI_File_close(&opened));
  close(end);
}

/* The number of what tells the queue of more, or those of all that it has, belong to the program from now on,
 * in the middle of reads: nothing is written to its file, and nothing taken from its pipe. */
static void check_closed_descriptors(const char* path) {
  char own[300] = "";
  struct stat status;
  int bell = -1, ring = -1, ends[2], left = 0;
  const int keeps_ring = check_rank % 2;
  snprintf(own, sizeof own, "%s.own%d", path, check_rank);
  const int bells = count_descriptors("anon_inode:[eventfd]", &bell);
  CHECK(count_descriptors("anon_inode:[io_uring]", &ring) == 1 && bells == 1, "%d bells", bells);
  const int mine = open(own, O_RDWR | O_CREAT | O_EXCL, 0600);
  unlink(own);
  CHECK(mine >= 0 && pipe(ends) == 0 && write(ends[1], own, sizeof own) == sizeof own, " ");
  const int reads = begin_pieces(1);
  CHECK(dup2(keeps_ring ? ends[0] : mine, bell) == bell, " ");
  CHECK(keeps_ring || dup2(mine, ring) == ring, " ");
  end_pieces(1, reads);
  for (int i = 0; i < 3; ++i) read_pieces(7);
  CHECK(fstat(mine, &status) == 0 && status.st_size == 0, "%ld bytes in the program's file",
        (long)status.st_size);
  CHECK(ioctl(ends[0], FIONREAD, &left) == 0 && left == sizeof own, "%d bytes in the program's pipe", left);
}

static atomic_int are_begun, advised, early;
enum { kReads = 8, kReadBytes = 1 << 18 };

/* The library's calls come here, by its thread: the first one waits until all reads are begun. */
__attribute__((visibility("default"))) int posix_fadvise(int descriptor, off_t from, off_t bytes,
                                                         int advice) {
  if (bytes != kReadBytes || advice != POSIX_FADV_WILLNEED) return 0;
  while (!are_begun) sched_yield();
  ++advised;
  return descriptor < 0 || from < 0;
}
__attribute__((visibility("default"))) ssize_t preadv(int descriptor, const struct iovec* pieces, int count,
                                                      off_t at) {
  early += are_begun && advised < kReads;
  return preadv2(descriptor, pieces, count, at, 0);
}

/* Reads to two pieces of memory wait for one thread, but not for the disk one after the other. */
static void check_announced(void) {
  static char pieces[kReads][2 * kReadBytes];
  MPI_Datatype type;
  MPI_Type_vector(2, kReadBytes / 2, kReadBytes, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < kReads; ++i)
    CHECK_CALL(MPI_File_iread_at(file, i * kReadBytes, pieces[i], 1, type, &requests[i]));
  are_begun = 1;
  CHECK_CALL(MPI_Waitall(kReads, requests, MPI_STATUSES_IGNORE));
  CHECK(advised == kReads && early <= 1, "%d, %d reads before", advised, early);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  char path[256];
  snprintf(path, sizeof path, "%s/files_queue.%ld", check_folder(), (long)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  memory = aligned_alloc(4096, (size_t)kPieces * kBytes); /* the kernel copies there as fast as anywhere */
  expected = malloc((size_t)kPieces * kBytes);
  for (long i = 0; i < (long)kPieces * kBytes; ++i) expected[i] = byte_of(i);
  CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &file));
  if (check_rank == 0)
    CHECK_CALL(MPI_File_write_at(file, 0, expected, kPieces * kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_CALL(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_CALL(MPI_File_sync(file));
  read_pieces(1);
  int number;
  const int queues = count_descriptors("anon_inode:[io_uring]", &number), wanted = can_have_queue();
  CHECK(queues == wanted, "%d queues, not %d", queues, wanted);
  check_short();
  MPI_Barrier(MPI_COMM_WORLD);
  check_beside_writes();
  check_announced();
  check_pipe(path);
  if (wanted) check_closed_descriptors(path);
  CHECK_CALL(MPI_File_close(&file));
  free(memory);
  free(expected);
  return check_end();
}
