/* A file system that may only be read: each rank has the folder so, in a view of the mounts of its own. Where
 * the machine allows no mounts, one line says so. ranks: 1 3 variants: none */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

static int class_of(int error) {
  int error_class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
  return error_class;
}

/* 0, or why not. */
static int make_read_only(const char* folder) {
  const unsigned long read_only = MS_REMOUNT | MS_BIND | MS_RDONLY;
  if (unshare(CLONE_NEWNS) != 0) return errno;
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return errno;
  if (mount(folder, folder, NULL, MS_BIND, NULL) != 0) return errno;
  return mount("none", folder, NULL, read_only, NULL) == 0 ? 0 : errno;
}

static void refused(const char* path, const char* other) {
  const int modes[] = {MPI_MODE_RDWR, MPI_MODE_WRONLY, MPI_MODE_RDWR | MPI_MODE_CREATE,
                       MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL};
  MPI_File file;
  for (int i = 0; i < 4; ++i) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    const char* const name = i < 2 ? path : other;
    const int error = MPI_File_open(MPI_COMM_WORLD, name, modes[i], MPI_INFO_NULL, &file);
    CHECK(class_of(error) == MPI_ERR_READ_ONLY, "mode 0x%x: class %d", modes[i], class_of(error));
    MPI_Error_string(error, text, &length);
    CHECK(strstr(text, name) && strstr(text, "rank 0") && strstr(text, strerror(EROFS)), "%s", text);
  }
  if (check_rank == 0) CHECK(class_of(MPI_File_delete(path, MPI_INFO_NULL)) == MPI_ERR_READ_ONLY, " ");
}

static void readable(const char* path) {
  const int mode = MPI_MODE_RDONLY;
  char data[8] = "";
  MPI_File file;
  OK(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
  OK(MPI_File_read_at_all(file, 0, data, 7, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(strcmp(data, "written") == 0, "%s", data);
  CHECK(class_of(MPI_File_write_at(file, 0, data, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY, " ");
  OK(MPI_File_close(&file));
  /* It cannot be deleted: closing says so, on all ranks. */
  OK(MPI_File_open(MPI_COMM_WORLD, path, mode | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
  CHECK(class_of(MPI_File_close(&file)) == MPI_ERR_READ_ONLY, " ");
}

int main(int argc, char** argv) {
  char folder[200], path[256], other[256];
  check_start(&argc, &argv);
  int job = (int)getpid(), reason = 0, worst = 0;
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(folder, sizeof folder, "%s/dunlin-files-read-only-%d", check_folder(), job);
  snprintf(path, sizeof path, "%s/there", folder);
  snprintf(other, sizeof other, "%s/new", folder);
  if (check_rank == 0) {
    CHECK(mkdir(folder, 0700) == 0, "%s", strerror(errno));
    FILE* file = fopen(path, "w");
    CHECK(file && fputs("written", file) >= 0 && fclose(file) == 0, " ");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  reason = make_read_only(folder);
  MPI_Allreduce(&reason, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (worst == 0) {
    refused(path, other);
    readable(path);
  } else if (check_rank == 0) {
    printf("skipped: no mounts of its own here (%s)\n", strerror(worst));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (reason == 0) umount2(folder, MNT_DETACH);
  if (check_rank == 0) {
    unlink(path);
    rmdir(folder);
  }
  return check_end();
}
