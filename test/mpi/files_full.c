/* A file system that becomes full in the middle of a write of all ranks, by every way, for short and long
 * pieces: who is told of no error has its data in the file, all others as much as their status says; bytes
 * that are nobody's, and other files, stay as they were; and with room again the same write succeeds.
 * All ranks see one small tmpfs, in a view of the mounts of their own.  Where the machine allows no mounts,
 * one line says so.
 * files_full [folder shortest [quota]]: in a folder that has this little room already, or quota, with pieces
 * from the shortest on.  A server may have no room when it gets what was written: then MPI_File_sync says so.
 * ranks: 1 2 3 5 variants: none */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

/* Of the file system, of another file in it, of the file as it is before, and of what all ranks write. */
enum { kRoom = 10 << 20, kOther = 7 << 20, kOld = 1 << 20, kAll = 4 << 20 };
enum { kFileMax = 2 * kAll + kRoom, kRanksMax = 8 };

static char folder[128], path[200], other[200];
static int has_server;
static int wanted_class = MPI_ERR_NO_SPACE;
static char data[kAll], content[kFileMax];
static MPI_File file;
static MPI_Status status;

/* Of byte `at` of the file, before and as a rank writes it. */
static char old_byte(long at) { return (char)(at < kOld ? 1 + at % 101 : 0); }
static char new_byte(long at) { return (char)(-1 - at % 103); }

/* Where byte `i` of a rank is: pieces of all ranks in turn, and one of nobody. */
static long place(int rank, int piece, long i) {
  return i / piece * (piece * (check_size + 1L)) + (long)rank * piece + i % piece;
}

static int bytes_of_each(int piece) { return kAll / check_size / piece * piece; }

/* 0, or why not. */
static int mount_small(int first) {
  char name[64];
  if (check_rank == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return errno;
    snprintf(name, sizeof name, "size=%d", kRoom);
    return mount("none", folder, "tmpfs", 0, name) == 0 ? 0 : errno;
  }
  snprintf(name, sizeof name, "/proc/%d/ns/mnt", first);
  const int mounts = open(name, O_RDONLY);
  const int is_done = mounts >= 0 && unshare(CLONE_FS) == 0 && setns(mounts, CLONE_NEWNS) == 0;
  const int reason = errno;
  if (mounts >= 0) close(mounts);
  return is_done ? 0 : reason;
}

static void write_plain(const char* name, long bytes) {
  const int descriptor = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (long i = 0; i < bytes; ++i) content[i] = old_byte(i % kOld);
  CHECK(pwrite(descriptor, content, (size_t)bytes, 0) == bytes, "%s: %s", name, strerror(errno));
  close(descriptor);
}

/* How long it is. */
static long read_plain(const char* name) {
  const int descriptor = open(name, O_RDONLY);
  const ssize_t bytes = pread(descriptor, content, sizeof content, 0);
  CHECK(bytes >= 0, "%s: %s", name, strerror(errno));
  close(descriptor);
  return bytes;
}

static void check_sentence(int error, int is_of_write) {
  char text[MPI_MAX_ERROR_STRING], rank[32];
  int error_class = MPI_SUCCESS, length = 0;
  MPI_Error_class(error, &error_class);
  MPI_Error_string(error, text, &length);
  CHECK(error_class == wanted_class, "class %d: %s", error_class, text);
  snprintf(rank, sizeof rank, "rank %d ", check_rank);
  CHECK(strstr(text, path), "%s", text);
  if (is_of_write) CHECK(strstr(text, rank) && strstr(text, "at byte"), "%s", text);
}

/* What rank 0 finds, where each rank has written its first counts[rank] bytes, and others perhaps. */
static void check_file(int piece, const int* counts) {
  const long bytes = read_plain(path), each = bytes_of_each(piece);
  CHECK(bytes <= place(check_size - 1, piece, each - 1) + 1, "%ld bytes", bytes);
  for (int rank = 0; rank <= check_size; ++rank)
    for (long i = 0; i < each; ++i) {
      const long at = place(rank, piece, i);
      if (rank < check_size && i < counts[rank])
        CHECK(at < bytes && content[at] == new_byte(at), "byte %ld of rank %d is lost", i, rank);
      else if (at < bytes && content[at] != old_byte(at))
        CHECK(rank < check_size && content[at] == new_byte(at), "byte %ld is %d", at, content[at]);
    }
}

/* All at once or each alone; the number of ranks that were refused. */
static int write_all(int is_collective, int piece) {
  const int bytes = bytes_of_each(piece);
  int count = -1, counts[kRanksMax], refused = 0;
  for (int i = 0; i < bytes; ++i) data[i] = new_byte(place(check_rank, piece, i));
  const int error = is_collective ? MPI_File_write_at_all(file, 0, data, bytes, MPI_BYTE, &status)
                                  : MPI_File_write_at(file, 0, data, bytes, MPI_BYTE, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  /* Together, who has written for others may be all that was refused. */
  CHECK(count == bytes || (error != MPI_SUCCESS && count >= 0), "%d of %d bytes", count, bytes);
  CHECK(count < bytes || error == MPI_SUCCESS || is_collective, " ");
  if (error != MPI_SUCCESS) check_sentence(error, 1);
  int is_refused = error != MPI_SUCCESS;
  if (has_server) {
    MPI_Barrier(MPI_COMM_WORLD);
    const int late = MPI_File_sync(file);
    if (late != MPI_SUCCESS) check_sentence(late, 0);
    if (late != MPI_SUCCESS) count = 0; /* any may be lost */
    is_refused = is_refused || late != MPI_SUCCESS;
    MPI_Barrier(MPI_COMM_WORLD);
    if (late != MPI_SUCCESS) (void)MPI_File_sync(file); /* what another rank's sync has found since */
  }
  MPI_Gather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (check_rank == 0) check_file(piece, counts);
  MPI_Allreduce(&is_refused, &refused, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return refused;
}

/* A server has room again some time after a file is gone. */
static void await_room(void) {
  struct statfs system;
  for (int tries = 0; has_server && tries < 200; ++tries) {
    CHECK(statfs(path, &system) == 0, "%s", strerror(errno));
    if ((long)system.f_bavail * (long)system.f_bsize >= kOther) return;
    usleep(100000);
  }
  CHECK(!has_server, "no room in 20 s");
}

static void fill_up(const char* collective, int is_collective, int piece) {
  MPI_Info info;
  MPI_Datatype block, type;
  if (check_rank == 0) {
    write_plain(other, kOther);
    write_plain(path, kOld);
  }
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", collective);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file));
  MPI_Type_contiguous(piece, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)piece * (check_size + 1), &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, (MPI_Offset)piece * check_rank, MPI_BYTE, type, "native", info));
  CHECK(write_all(is_collective, piece) > 0, "pieces of %d", piece);
  if (check_rank == 0) {
    CHECK(read_plain(other) == kOther, " ");
    for (long i = 0; i < kOther; ++i) CHECK(content[i] == old_byte(i % kOld), "byte %ld", i);
    CHECK(unlink(other) == 0, " ");
    await_room();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(write_all(is_collective, piece) == 0, "pieces of %d", piece);
  OK(MPI_File_close(&file));
  if (check_rank == 0) CHECK(unlink(path) == 0, " ");
  MPI_Type_free(&type);
  MPI_Type_free(&block);
  MPI_Info_free(&info);
}

static void fill_up_by_all_ways(int shortest) {
  const int pieces[] = {8, 1000, 4096, 65536, 200000};
  for (int i = 0; i < 5; ++i) {
    if (pieces[i] < shortest) continue;
    fill_up("enable", 1, pieces[i]);
    fill_up("disable", 1, pieces[i]);
    fill_up("automatic", 1, pieces[i]);
    fill_up("automatic", 0, pieces[i]);
  }
}

static void fill_given(const char* given, int shortest) {
  struct statfs system;
  CHECK(statfs(given, &system) == 0, "%s: %s", given, strerror(errno));
  has_server = system.f_type == NFS_SUPER_MAGIC;
  snprintf(path, sizeof path, "%s/file", given);
  snprintf(other, sizeof other, "%s/other", given);
  fill_up_by_all_ways(shortest);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  int job = (int)getpid(), reason = 0, worst = 0;
  if (argc > 3) wanted_class = MPI_ERR_QUOTA;
  if (argc > 2) {
    fill_given(argv[1], atoi(argv[2]));
    return check_end();
  }
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(folder, sizeof folder, "%s/dunlin-files-full-%d", check_folder(), job);
  snprintf(path, sizeof path, "%s/file", folder);
  snprintf(other, sizeof other, "%s/other", folder);
  if (check_rank == 0) {
    CHECK(mkdir(folder, 0700) == 0, "%s", strerror(errno));
    reason = mount_small(job);
  }
  MPI_Bcast(&reason, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (check_rank > 0 && reason == 0) reason = mount_small(job);
  MPI_Allreduce(&reason, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (worst == 0)
    fill_up_by_all_ways(0);
  else if (check_rank == 0) printf("skipped: no mounts of its own here (%s)\n", strerror(worst));
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) {
    if (reason == 0) umount2(folder, MNT_DETACH);
    rmdir(folder);
  }
  return check_end();
}
