/* Collective accesses to pieces of a page or so, which each rank moves for all, straight in their buffers:
 * every byte arrives, and by few calls of the kernel; also where calls move less than asked for or fail,
 * where the file ends early, where the lists of pieces are too long, where a buffer cannot be mapped, where a
 * rank forks meanwhile.
 *
 * ranks: 1 2 3 5 variants: none */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK_CALL(call)
#define VISIBLE __attribute__((visibility("default")))

enum { kPieces = 400, kLongest = 5000, kBytesMax = kPieces * kLongest };

static char path[256];
static MPI_File file;
static int calls;    /* of the kernel that move data */
static int is_short; /* they are interrupted, and move a part */
static int failures; /* so many fail */
static int is_bad;   /* all fail that write in the middle of the file */
static int forks_at; /* the call with this number forks first; 0: none */
static pid_t child = -1;

/* From then on peers see this rank's buffers no more. The child lives until it is killed. */
static void fork_now(void) {
  forks_at = 0;
  child = fork();
  while (child == 0) pause();
}

static ssize_t moved(int descriptor, const struct iovec* pieces, int count, off_t at, int is_write) {
  struct iovec some = pieces[0];
  if (++calls == forks_at) fork_now();
  if ((is_short && calls % 3 == 0) || (failures > 0 && failures-- > 0) ||
      (is_bad && is_write && at > 300000)) {
    errno = is_short ? EINTR : EIO;
    return -1;
  }
  if (is_short && calls % 3 == 1) {
    some.iov_len = 1 + some.iov_len / 2;
    pieces = &some;
    count = 1;
  } else if (is_short) {
    count = 1 + count / 2;
  }
  return is_write ? pwritev2(descriptor, pieces, count, at, 0) : preadv2(descriptor, pieces, count, at, 0);
}

VISIBLE ssize_t pwritev(int descriptor, const struct iovec* pieces, int count, off_t at) {
  return moved(descriptor, pieces, count, at, 1);
}

VISIBLE ssize_t preadv(int descriptor, const struct iovec* pieces, int count, off_t at) {
  return moved(descriptor, pieces, count, at, 0);
}

VISIBLE ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t at) {
  const struct iovec piece = {(void*)data, bytes};
  return moved(descriptor, &piece, 1, at, 1);
}

VISIBLE ssize_t pread(int descriptor, void* data, size_t bytes, off_t at) {
  const struct iovec piece = {data, bytes};
  return moved(descriptor, &piece, 1, at, 0);
}

/* Piece `i` of all, those of the ranks in turn, of all lengths; uneven: the first half are short. */
static int length_of(int i, int is_uneven) {
  const int n = 1000 + (int)((unsigned)i * 2654435761u % (kLongest - 1000));
  return is_uneven && i < kPieces * check_size / 2 ? 1 + n % 20 : n;
}

/* Every byte of the file by its place. */
static unsigned char byte_at(long offset, int round) {
  return (unsigned char)(offset * 7 + offset / 251 + round * 31);
}

typedef struct {
  int bytes;  /* of this rank */
  long total; /* of all */
  long starts[kPieces];
  int lengths[kPieces];
  unsigned char* data;
} Mine;

static void set_view(Mine* mine, int is_uneven, int displacement) {
  MPI_Datatype type;
  MPI_Aint starts[kPieces];
  long at = 0;
  mine->bytes = 0;
  for (int i = 0; i < kPieces * check_size; ++i) {
    const int n = length_of(i, is_uneven), k = i / check_size;
    if (i % check_size == check_rank) {
      starts[k] = mine->starts[k] = at;
      mine->lengths[k] = n;
      mine->bytes += n;
    }
    at += n + (i % 37 == 0 ? 100 : 0); /* now and then a hole */
  }
  mine->total = at;
  MPI_Type_create_hindexed(kPieces, mine->lengths, starts, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, displacement, MPI_BYTE, type, "native", MPI_INFO_NULL));
  MPI_Type_free(&type);
  for (int k = 0; k < kPieces; ++k) mine->starts[k] += displacement;
}

static void fill(const Mine* mine, int round) {
  for (int k = 0, i = 0; k < kPieces; ++k)
    for (int j = 0; j < mine->lengths[k]; ++j) mine->data[i++] = byte_at(mine->starts[k] + j, round);
}

/* What lies in front of byte `end` of the file. */
static void check(const Mine* mine, int round, long end, int count) {
  int i = 0, there = 0;
  for (int k = 0; k < kPieces; ++k)
    for (int j = 0; j < mine->lengths[k]; ++j, ++i) {
      const long at = mine->starts[k] + j;
      if (at >= end) continue;
      ++there;
      CHECK(mine->data[i] == byte_at(at, round), "byte %ld is %d, not %d; round %d", at, mine->data[i],
            byte_at(at, round), round);
    }
  CHECK(count == there, "%d bytes, not %d; round %d", count, there, round);
}

static void write_and_read(const Mine* mine, int round, int is_background, long end) {
  MPI_Request request;
  MPI_Status status;
  int count = -1;
  fill(mine, round);
  if (is_background) {
    OK(MPI_File_iwrite_at_all(file, 0, mine->data, mine->bytes, MPI_BYTE, &request));
    OK(MPI_Wait(&request, &status));
  } else {
    OK(MPI_File_write_at_all(file, 0, mine->data, mine->bytes, MPI_BYTE, &status));
  }
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == mine->bytes, "%d bytes, not %d", count, mine->bytes);
  memset(mine->data, 0xcd, (size_t)mine->bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  if (end > 0) OK(MPI_File_set_size(file, end));
  if (is_background) {
    OK(MPI_File_iread_at_all(file, 0, mine->data, mine->bytes, MPI_BYTE, &request));
    OK(MPI_Wait(&request, &status));
  } else {
    OK(MPI_File_read_at_all(file, 0, mine->data, mine->bytes, MPI_BYTE, &status));
  }
  MPI_Get_count(&status, MPI_BYTE, &count);
  check(mine, round, end > 0 ? end : mine->total + 1000, count);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* In the `call`-th call of the kernel of one rank; what the others have moved for it by then, or still do,
 * may be of no use. */
static void write_and_read_forking(Mine* mine, int round, int is_background, int call) {
  calls = 0;
  forks_at = round % check_size == check_rank ? call : 0;
  write_and_read(mine, round, is_background, 0);
  forks_at = 0;
  if (child > 0) kill(child, SIGKILL);
  if (child > 0) waitpid(child, NULL, 0);
  child = -1;
  free(mine->data); /* another block has met no fork yet */
  mine->data = malloc(kBytesMax);
}

static void open_file(const char* buffer_bytes) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", buffer_bytes);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                   &file));
  MPI_Info_free(&info);
}

/* No rank's pieces are lost where none can be written by one of them: each has its own error. */
static void refused(const Mine* mine) {
  int error_class = MPI_SUCCESS;
  fill(mine, 99);
  is_bad = check_rank == 0;
  const int error = MPI_File_write_at_all(file, 0, mine->data, mine->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  is_bad = 0;
  MPI_Error_class(error, &error_class);
  CHECK(error_class == (check_rank == 0 ? MPI_ERR_IO : MPI_SUCCESS), "class %d", error_class);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) return;
  int count = -1;
  MPI_Status status;
  OK(MPI_File_read_at(file, 0, mine->data, mine->bytes, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  check(mine, 99, mine->total + 1000, count);
}

/* By NFS: what does not go in place there goes without windows, too, and then a failure is one. */
static int is_served(void) {
  struct statfs system;
  return statfs(check_folder(), &system) == 0 && system.f_type == NFS_SUPER_MAGIC;
}

int main(int argc, char** argv) {
  Mine mine;
  check_start(&argc, &argv);
  int job = (int)getpid(), round = 0;
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin-files-in-place-%d", check_folder(), job);
  unsigned char* const unmapped =
      mmap(NULL, kBytesMax, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mine.data = malloc(kBytesMax);
  for (int is_small = 0; is_small < 2; ++is_small) {
    open_file(is_small ? "4096" : "1048576");
    for (int is_uneven = 0; is_uneven < 2; ++is_uneven) {
      set_view(&mine, is_uneven, 13 * is_small);
      for (int is_background = 0; is_background < 2; ++is_background) {
        calls = 0;
        write_and_read(&mine, ++round, is_background, 0);
        if (!is_small && !is_uneven && check_size > 1 && !getenv("DUNLIN_HEAP"))
          CHECK(calls < kPieces / 4, "%d calls for %d pieces", calls, kPieces);
        is_short = 1;
        write_and_read(&mine, ++round, is_background, 0);
        is_short = 0;
        failures = check_rank == 0 && !is_served() ? 1 : 0;
        if (check_size > 1) write_and_read(&mine, ++round, is_background, 0);
        failures = 0;
        for (int call = 1; call < 5; call += 3) write_and_read_forking(&mine, ++round, is_background, call);
        write_and_read(&mine, ++round, is_background, mine.total * 2 / 3);
        unsigned char* const heap = mine.data;
        if (check_rank == check_size - 1) mine.data = unmapped;
        write_and_read(&mine, ++round, is_background, 0);
        mine.data = heap;
      }
    }
    set_view(&mine, 0, 0);
    if (check_size > 1) refused(&mine);
    OK(MPI_File_close(&file));
  }
  return check_end();
}
