/* 16 files open at once where a process may have 64 descriptors, read and written by every way; and none is
 * left when they are closed. ranks: 1 2 3 8 variants: none */
#include <dirent.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

enum { kFiles = 16, kPieces = 600, kPiece = 8, kBytes = kPieces * kPiece, kDescriptors = 64 };

static char job_path[200];
static MPI_File files[kFiles];
static unsigned char data[kBytes], found[kBytes];

static int descriptors(void) {
  DIR* folder = opendir("/proc/self/fd");
  int n = -1; /* the folder's own */
  CHECK(folder, " ");
  for (struct dirent* entry; (entry = readdir(folder));) n += entry->d_name[0] != '.';
  closedir(folder);
  return n;
}

/* Every second one goes together; and all have views with gaps. */
static void open_files(void) {
  MPI_Datatype piece, type;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Type_contiguous(kPiece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)kPiece * (check_size + 1), &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < kFiles; ++i) {
    char path[256];
    snprintf(path, sizeof path, "%s-%d", job_path, i);
    MPI_Info_set(info, "romio_cb_write", i % 2 ? "enable" : "disable");
    MPI_Info_set(info, "romio_cb_read", i % 2 ? "enable" : "disable");
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                     &files[i]));
    OK(MPI_File_set_view(files[i], (MPI_Offset)kPiece * check_rank, MPI_BYTE, type, "native", info));
  }
  MPI_Type_free(&piece);
  MPI_Type_free(&type);
  MPI_Info_free(&info);
}

static unsigned char byte_of(int file, int rank, int i) {
  return (unsigned char)(1 + file + 5 * rank + 3 * i);
}

static void read_back(int i, MPI_Offset at) {
  memset(found, 0, kBytes);
  OK(MPI_File_read_at_all(files[i], at, found, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(found, data, kBytes) == 0, "file %d", i);
}

/* All files are open: each by one way, and all by all in turn. */
static void use_files(void) {
  MPI_Request requests[kFiles];
  for (int i = 0; i < kFiles; ++i) {
    for (int at = 0; at < kBytes; ++at) data[at] = byte_of(i, check_rank, at);
    OK(MPI_File_write_at(files[i], 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at_all(files[i], kBytes, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_iwrite_at_all(files[i], 2 * kBytes, data, kBytes, MPI_BYTE, &requests[i]));
    OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    OK(MPI_File_write_at_all_begin(files[i], 3 * kBytes, data, kBytes, MPI_BYTE));
    OK(MPI_File_write_at_all_end(files[i], data, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(files[i]));
    for (int way = 0; way < 4; ++way) read_back(i, (MPI_Offset)way * kBytes);
  }
  for (int i = 0; i < kFiles; ++i) OK(MPI_File_iread_at(files[i], 0, found, 1, MPI_BYTE, &requests[i]));
  OK(MPI_Waitall(kFiles, requests, MPI_STATUSES_IGNORE));
}

/* Pieces of all ranks at the shared pointers, in any order and in theirs. */
static void share_pointers(void) {
  for (int i = 0; i < kFiles; ++i) {
    MPI_Offset end = 0;
    OK(MPI_File_set_view(files[i], 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    for (int at = 0; at < kBytes; ++at) data[at] = byte_of(i, check_rank, at);
    OK(MPI_File_write_ordered(files[i], data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_write_shared(files[i], data, kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_position_shared(files[i], &end));
    CHECK(end == (MPI_Offset)check_size * (kBytes + kPiece), "file %d: %lld", i, (long long)end);
    read_back(i, (MPI_Offset)kBytes * check_rank);
  }
}

int main(int argc, char** argv) {
  const struct rlimit few = {kDescriptors, kDescriptors};
  CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0, " ");
  check_start(&argc, &argv);
  int job = (int)getpid(), before = 0;
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(job_path, sizeof job_path, "%s/dunlin-files-few-%d", check_folder(), job);
  for (int round = 0; round < 3; ++round) {
    open_files();
    use_files();
    share_pointers();
    for (int i = 0; i < kFiles; ++i) OK(MPI_File_close(&files[i]));
    if (round == 0) before = descriptors();
    CHECK(descriptors() <= before, "%d descriptors are left, %d before", descriptors(), before);
  }
  return check_end();
}
