/* Files whose file system refuses: full in the middle, beyond a quota, for reading only from now on, a bad
 * block, interrupted, failing to sync, no locks for some rank; and what the status says then; and by which
 * calls hints have the file read and written.  The library's calls of the kernel come here first.
 *
 * ranks: 1 2 3 5 variants: none */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")
#define VISIBLE __attribute__((visibility("default")))

enum { kPiece = 8, kPieces = 3000, kBytes = kPiece * kPieces, kDisp = 5 };

static char path[256];
static MPI_File file;
static MPI_Status status;

/* From this byte on, up to another or for ever, the file system refuses, in calls that begin there; 0: it
 * does not. */
static off_t bad_from, bad_to;
static int bad_reason; /* 0: nothing is moved, and no reason given */
static int reads, writes, interruptions;
static int sync_reason;  /* why the disk does not take what was written */
static int is_disturbed; /* every other call is interrupted, and the rest move a part */
static off_t unit;       /* bytes at whose multiples each write but the first begins */
static off_t first_write;
static unsigned claimed; /* of the file system; 0: what it is */

/* What a call may move before it comes to the bad bytes. */
static ssize_t part(int descriptor, const struct iovec* pieces, int count, off_t at, int is_write) {
  size_t all = 0;
  for (int i = 0; i < count; ++i) all += pieces[i].iov_len;
  if (is_disturbed && interruptions++ % 2 == 0) {
    errno = EINTR;
    return -1;
  }
  if (is_disturbed) { /* of the first piece, or the first ones */
    const struct iovec some = {pieces->iov_base, 1 + pieces->iov_len / 2};
    const struct iovec* const first = count == 1 || interruptions % 4 == 0 ? &some : pieces;
    const int n = first == &some ? 1 : 1 + count / 2;
    if (some.iov_len <= pieces->iov_len)
      return is_write ? pwritev2(descriptor, first, n, at, 0) : preadv2(descriptor, first, n, at, 0);
  }
  const int is_behind = bad_to > 0 && at >= bad_to;
  if (bad_from > 0 && at >= bad_from && !is_behind) {
    errno = bad_reason;
    return bad_reason ? -1 : 0;
  }
  if (bad_from > 0 && count == 1 && at < bad_from && at + (off_t)all > bad_from)
    all = (size_t)(bad_from - at);
  const struct iovec one = {pieces->iov_base, all};
  if (count == 1) pieces = &one;
  return is_write ? pwritev2(descriptor, pieces, count, at, 0) : preadv2(descriptor, pieces, count, at, 0);
}

VISIBLE ssize_t pwritev(int descriptor, const struct iovec* pieces, int count, off_t at) {
  ++writes;
  if (unit > 0) CHECK(at == first_write || at % unit == 0, "a write at %lld", (long long)at);
  return part(descriptor, pieces, count, at, 1);
}

VISIBLE ssize_t preadv(int descriptor, const struct iovec* pieces, int count, off_t at) {
  ++reads;
  return part(descriptor, pieces, count, at, 0);
}

VISIBLE ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t at) {
  const struct iovec piece = {(void*)data, bytes};
  return pwritev(descriptor, &piece, 1, at);
}

VISIBLE ssize_t pread(int descriptor, void* data, size_t bytes, off_t at) {
  const struct iovec piece = {data, bytes};
  return preadv(descriptor, &piece, 1, at);
}

static int is_interrupted(void) {
  if (is_disturbed || interruptions == 0) return 0;
  --interruptions;
  errno = EINTR;
  return 1;
}

VISIBLE int ftruncate(int descriptor, off_t bytes) {
  return is_interrupted() ? -1 : (int)syscall(SYS_ftruncate, descriptor, bytes);
}

VISIBLE int fcntl(int descriptor, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  const int is_lock = command == F_OFD_SETLKW;
  return is_lock && is_interrupted() ? -1 : (int)syscall(SYS_fcntl, descriptor, command, argument);
}

VISIBLE int fsync(int descriptor) {
  if (is_interrupted()) return -1;
  errno = sync_reason;
  return sync_reason ? -1 : fdatasync(descriptor);
}

VISIBLE int fallocate(int descriptor, int mode, off_t from, off_t bytes) {
  if (is_interrupted()) return -1;
  const int error = mode == 0 ? posix_fallocate(descriptor, from, bytes) : EINVAL;
  errno = error;
  return error == 0 ? 0 : -1;
}

VISIBLE int fstatfs(int descriptor, struct statfs* system) {
  char proc[64];
  snprintf(proc, sizeof proc, "/proc/self/fd/%d", descriptor);
  const int result = statfs(proc, system);
  if (claimed) system->f_type = claimed;
  return result;
}

static void open_file(const char* collective) {
  MPI_Info info;
  MPI_Datatype piece, type;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", collective);
  MPI_Info_set(info, "romio_cb_read", collective);
  MPI_Info_set(info, "cb_buffer_size", "4096");
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                   &file));
  MPI_Type_contiguous(kPiece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)kPiece * (check_size + 1), &type); /* and a hole */
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, kDisp + (MPI_Offset)kPiece * check_rank, MPI_BYTE, type, "native", info));
  MPI_Type_free(&piece);
  MPI_Type_free(&type);
  MPI_Info_free(&info);
}

/* This rank's bytes before byte `end` of the file. */
static int bytes_below(long end) {
  int bytes = 0;
  for (int i = 0; i < kBytes; ++i)
    bytes += kDisp + (long)kPiece * ((check_size + 1) * (i / kPiece) + check_rank) + i % kPiece < end;
  return bytes;
}

/* The class of errors of this reason (MPI 5.0, 14.8), and what the sentence must say: rank, file, byte and
 * reason. */
static void check_error(int error, int reason, long long first_bad, const char* way) {
  const int wanted = reason == ENOSPC   ? MPI_ERR_NO_SPACE
                     : reason == EDQUOT ? MPI_ERR_QUOTA
                     : reason == EROFS  ? MPI_ERR_READ_ONLY
                                        : MPI_ERR_IO;
  char text[MPI_MAX_ERROR_STRING], rank[32];
  int error_class = MPI_SUCCESS, length = 0;
  MPI_Error_class(error, &error_class);
  CHECK(error_class == wanted, "class %d, not %d; %s", error_class, wanted, way);
  MPI_Error_string(error, text, &length);
  snprintf(rank, sizeof rank, "rank %d ", check_rank);
  CHECK(strstr(text, rank) && strstr(text, path) && strstr(text, strerror(reason)), "%s", text);
  const char* const place = strstr(text, "at byte ");
  CHECK(place && atoll(place + 8) >= first_bad, "before byte %lld: %s", first_bad, text);
}

static void refused(int is_write, int is_collective, const char* way, int reason) {
  static unsigned char data[kBytes];
  int count = -1, error;
  open_file(way);
  for (int i = 0; i < kBytes; ++i) data[i] = (unsigned char)(1 + check_rank + 3 * i);
  if (!is_write) OK(MPI_File_write_at_all(file, 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  bad_from = (off_t)kPiece * (check_size + 1) * kPieces / 3;
  bad_reason = reason;
  if (is_write)
    error = is_collective ? MPI_File_write_at_all(file, 0, data, kBytes, MPI_BYTE, &status)
                          : MPI_File_write_at(file, 0, data, kBytes, MPI_BYTE, &status);
  else
    error = is_collective ? MPI_File_read_at_all(file, 0, data, kBytes, MPI_BYTE, &status)
                          : MPI_File_read_at(file, 0, data, kBytes, MPI_BYTE, &status);
  const int wanted = bytes_below((long)bad_from);
  check_error(error, reason, bad_from, way);
  bad_from = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == wanted, "%d bytes, not %d; write %d, collective %d, %s", count, wanted, is_write,
        is_collective, way);
  MPI_Barrier(MPI_COMM_WORLD);
  static unsigned char found[kBytes];
  OK(MPI_File_read_at(file, 0, found, count, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < count; ++i)
    CHECK(found[i] == (unsigned char)(1 + check_rank + 3 * i) && found[i] == data[i], "byte %d is %d", i,
          found[i]);
  OK(MPI_File_close(&file));
}

/* A write of nothing is an error, too. */
static void stuck(void) {
  static char data[kBytes];
  int count = -1, error_class = MPI_SUCCESS;
  open_file("disable");
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  bad_from = 1000;
  bad_reason = 0;
  const int error = MPI_File_write_at(file, 0, data, kBytes, MPI_BYTE, &status);
  bad_from = 0;
  MPI_Error_class(error, &error_class);
  CHECK(error_class == MPI_ERR_IO, "class %d", error_class);
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == 1000, "%d", count);
  OK(MPI_File_close(&file));
}

/* A block between the pieces of all is bad: nobody wants it. */
static void bad_hole(int is_collective, const char* way) {
  static unsigned char data[kBytes], found[kBytes];
  open_file(way);
  for (int i = 0; i < kBytes; ++i) data[i] = (unsigned char)(1 + check_rank + 3 * i);
  OK(MPI_File_write_at_all(file, 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  bad_from = kDisp + (off_t)kPiece * (check_size + 1) * (kPieces / 2) + kPiece * check_size;
  bad_to = bad_from + kPiece;
  bad_reason = EIO;
  if (is_collective)
    OK(MPI_File_read_at_all(file, 0, found, kBytes, MPI_BYTE, &status));
  else
    OK(MPI_File_read_at(file, 0, found, kBytes, MPI_BYTE, &status));
  bad_from = bad_to = 0;
  CHECK(memcmp(found, data, kBytes) == 0, "%s", way);
  OK(MPI_File_close(&file));
}

/* What hints say is what is done: the calls of the kernel are counted. */
static void hinted(void) {
  enum { kWhole = 1 << 20 };
  static char data[kWhole];
  MPI_Info info;
  MPI_Datatype type;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable"); /* told at opening: no view follows */
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "cb_buffer_size", "100000"); /* less than two units: one */
  MPI_Info_set(info, "striping_unit", "65536");
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                   &file));
  if (check_size > 1) {
    writes = 0;
    unit = 65536;
    first_write = 1000;
    OK(MPI_File_write_at_all(file, 1000 + (MPI_Offset)kWhole * check_rank, data, kWhole, MPI_BYTE, &status));
    unit = 0;
    const int windows = (1000 + kWhole * check_size + 65535) / 65536;
    CHECK(writes == (check_rank == 0 ? windows : 0), "%d writes", writes);
  }
  MPI_Type_vector(2, 4, 100, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Info_set(info, "romio_cb_write", "disable");
  MPI_Info_set(info, "romio_cb_read", "disable");
  for (int by_windows = 0; by_windows < 2; ++by_windows) {
    MPI_Info_set(info, "romio_ds_read", by_windows ? "enable" : "disable");
    MPI_Info_set(info, "romio_ds_write", by_windows ? "enable" : "disable");
    OK(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", info));
    reads = writes = 0;
    OK(MPI_File_write_at(file, 0, data, 4000, MPI_BYTE, &status));
    CHECK(by_windows ? writes == 1 : writes > 500, "%d writes", writes);
    reads = 0;
    OK(MPI_File_read_at(file, 0, data, 4000, MPI_BYTE, &status));
    CHECK(by_windows ? reads == 1 : reads > 500, "%d reads", reads);
  }
  MPI_Type_free(&type);
  MPI_Info_free(&info);
  OK(MPI_File_close(&file));
}

/* Of that class, naming file, the rank that has failed, and why. */
static void check_unsynced(int error, int reason, int wanted) {
  char text[MPI_MAX_ERROR_STRING], rank[32];
  int error_class = MPI_SUCCESS, length = 0;
  MPI_Error_class(error, &error_class);
  CHECK(error_class == wanted, "class %d", error_class);
  MPI_Error_string(error, text, &length);
  snprintf(rank, sizeof rank, "rank %d ", check_size - 1);
  CHECK(strstr(text, rank) && strstr(text, path) && strstr(text, strerror(reason)), "%s", text);
}

/* What does not reach the disk on one rank is an error on all, syncing and closing; then it can be tried
 * again.
 */
static void unsynced(int reason, int wanted) {
  char data[100] = {0};
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  OK(MPI_File_write_at(file, 100 * check_rank, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE));
  sync_reason = check_rank == check_size - 1 ? reason : 0;
  check_unsynced(MPI_File_sync(file), reason, wanted);
  check_unsynced(MPI_File_close(&file), reason, wanted);
  CHECK(file != MPI_FILE_NULL, " ");
  sync_reason = 0;
  interruptions = 3;
  OK(MPI_File_close(&file));
  CHECK(check_rank < check_size - 1 || interruptions == 0, "%d", interruptions);
  interruptions = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) OK(MPI_File_delete(path, MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
}

static void interrupted(void) {
  MPI_Offset bytes = 0;
  char data[100] = {0};
  open_file("automatic");
  interruptions = 5;
  OK(MPI_File_preallocate(file, 40 << 20));
  OK(MPI_File_get_size(file, &bytes));
  CHECK(bytes == 40 << 20, "%lld", (long long)bytes);
  CHECK(check_rank > 0 || interruptions == 0, "%d", interruptions);
  interruptions = 5;
  OK(MPI_File_set_size(file, 1000));
  OK(MPI_File_get_size(file, &bytes));
  CHECK(bytes == 1000, "%lld", (long long)bytes);
  CHECK(check_rank > 0 || interruptions == 0, "%d", interruptions);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_set_atomicity(file, 1));
  interruptions = 5; /* waiting for the lock */
  OK(MPI_File_write_at(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(interruptions == 0, "%d", interruptions);
  OK(MPI_File_close(&file));
}

/* Interrupted calls, and calls that move less than asked for: everything arrives, by every way. */
static void disturbed(const char* collective, const char* sieving) {
  enum { kGap = 700 };
  static unsigned char data[2 * kPieces * kPiece * 4], found[sizeof data];
  MPI_Info info;
  MPI_Datatype runs, gaps;
  MPI_Request request;
  int count = -1;
  open_file(collective);
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_ds_read", sieving);
  MPI_Info_set(info, "romio_ds_write", sieving);
  MPI_Type_vector(20, 3000, 3000 * check_size, MPI_BYTE, &runs);
  MPI_Type_vector(60000 / kGap / 2, kGap, 2 * kGap, MPI_BYTE, &gaps); /* listed */
  MPI_Type_commit(&runs);
  MPI_Type_commit(&gaps);
  OK(MPI_File_set_view(file, kDisp + 3000 * check_rank, MPI_BYTE, runs, "native", info));
  for (size_t i = 0; i < sizeof data; ++i) data[i] = (unsigned char)(1 + check_rank + 3 * i + i / 256);
  for (int way = 0; way < 3; ++way) {
    const int is_listed = way == 2, n = is_listed ? 1 : 50000;
    const int bytes = is_listed ? 60000 / kGap / 2 * kGap : n;
    const MPI_Datatype type = is_listed ? gaps : MPI_BYTE;
    memset(found, 0, sizeof found);
    is_disturbed = 1;
    interruptions = check_rank;
    if (way == 0) {
      OK(MPI_File_write_at_all(file, 0, data, n, type, &status));
      MPI_Barrier(MPI_COMM_WORLD);
      OK(MPI_File_read_at_all(file, 0, found, n, type, &status));
    } else {
      OK(MPI_File_write_at(file, 0, data, n, type, &status));
      OK(MPI_File_iread_at(file, 0, found, n, type, &request));
      OK(MPI_Wait(&request, &status));
    }
    is_disturbed = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == bytes, "%d bytes, not %d; way %d, %s, %s", count, bytes, way, collective, sieving);
    for (int i = 0, at = 0; i < bytes; ++i, ++at) {
      if (is_listed && i > 0 && i % kGap == 0) at += kGap;
      CHECK(found[at] == data[at], "byte %d of way %d: %d, not %d", i, way, found[at], data[at]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  interruptions = 0;
  MPI_Type_free(&runs);
  MPI_Type_free(&gaps);
  MPI_Info_free(&info);
  OK(MPI_File_close(&file));
}

/* Windows of this rank in an access to short pieces, where it sees this file system. */
static int windows_on(unsigned magic) {
  static unsigned char data[kBytes];
  claimed = magic;
  open_file("disable");
  reads = 0;
  OK(MPI_File_write_at(file, 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  const int found = reads;
  claimed = 0;
  OK(MPI_File_close(&file));
  return found;
}

/* Where one rank sees a file by the network, the locks of nobody reach all: no rank writes by windows. */
static void file_systems(void) {
  const unsigned own[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                          OVERLAYFS_SUPER_MAGIC};
  for (unsigned i = 0; i < sizeof own / sizeof *own; ++i) CHECK(windows_on(own[i]) > 0, "0x%x", own[i]);
  CHECK(windows_on(check_rank == check_size - 1 ? NFS_SUPER_MAGIC : 0) == 0, " ");
}

/* Two bytes far from each other, and a hint to work together. */
static void far_apart(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "collective_buffering", "true");
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                   &file));
  char byte = (char)check_rank, found = 0;
  const MPI_Offset at = ((MPI_Offset)1 << 58) * check_rank;
  OK(MPI_File_write_at_all(file, at, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_all(file, at, &found, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(found == byte, "%d", found);
  OK(MPI_File_close(&file));
  MPI_Info_free(&info);
}

/* Much of each rank, far from the others': what lies between costs nothing. */
static void blocks_far_apart(void) {
  static unsigned char data[kBytes], back[kBytes];
  open_file("enable");
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  const MPI_Offset at = ((MPI_Offset)1 << 26) * check_rank + 5;
  for (int i = 0; i < kBytes; ++i) data[i] = (unsigned char)(check_rank + i * 3);
  reads = writes = 0;
  OK(MPI_File_write_at_all(file, at, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_all(file, at, back, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(data, back, kBytes) == 0, " ");
  CHECK(reads + writes < 100, "%d reads, %d writes", reads, writes);
  OK(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  int job = (int)getpid();
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin-files-faults-%d", check_folder(), job);
  const int reasons[] = {EIO, ENOSPC, EDQUOT, EROFS, EIO}; /* the first is that of reading */
  for (int i = 0; i < 5; ++i)
    for (int is_collective = 0; is_collective < 2; ++is_collective) {
      refused(i > 0, is_collective, "enable", reasons[i]);
      refused(i > 0, is_collective, "disable", reasons[i]);
    }
  stuck();
  bad_hole(0, "disable");
  bad_hole(1, "disable");
  bad_hole(1, "enable");
  hinted();
  unsynced(EIO, MPI_ERR_IO);
  unsynced(EDQUOT, MPI_ERR_QUOTA);
  interrupted();
  disturbed("disable", "disable");
  disturbed("disable", "enable");
  disturbed("enable", "enable");
  file_systems();
  far_apart();
  blocks_far_apart();
  return check_end();
}
