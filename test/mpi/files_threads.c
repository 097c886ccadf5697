/* Several threads of each rank use one open file at once: each writes and reads bytes of its own, by short
 * pieces, long ones and nonblocking calls, one of them together with the other ranks; each opens, views and
 * closes a file of its own meanwhile. files_threads [rounds] */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

enum { kThreads = 3, kPiece = 64, kShort = 40 * kPiece, kLong = 100000, kBytes = kShort + kLong };

static MPI_File all;
static char path[200];
static int rounds;
static pthread_barrier_t met;

static unsigned char byte_of(int number, int round, int i) {
  return (unsigned char)(1 + (check_rank * 41 + number * 17 + round * 7 + i * 3) % 255);
}

/* Bytes of this thread in its rank's view; of thread 0 by all ranks together. */
static void move(MPI_File file, int number, int round, MPI_Offset at, int bytes) {
  unsigned char* const out = malloc((size_t)bytes);
  unsigned char* const in = calloc((size_t)bytes, 1);
  MPI_Request request;
  MPI_Status status;
  int count = -1;
  for (int i = 0; i < bytes; ++i) out[i] = byte_of(number, round, i);
  if (number == 0 && file == all) {
    OK(MPI_File_iwrite_at_all(file, at, out, bytes, MPI_BYTE, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at_all(file, at, in, bytes, MPI_BYTE, &status));
  } else if (round % 2) {
    OK(MPI_File_iwrite_at(file, at, out, bytes, MPI_BYTE, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_File_iread_at(file, at, in, bytes, MPI_BYTE, &request));
    OK(MPI_Wait(&request, &status));
  } else {
    OK(MPI_File_write_at(file, at, out, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(file, at, in, bytes, MPI_BYTE, &status));
  }
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == bytes, "%d bytes, not %d", count, bytes);
  for (int i = 0; i < bytes; ++i)
    CHECK(in[i] == out[i], "thread %d, round %d, byte %d of %d is %d, not %d", number, round, i, bytes, in[i],
          out[i]);
  free(out);
  free(in);
}

static void set_view(MPI_File file, int index, int count) {
  MPI_Datatype piece, type;
  MPI_Type_contiguous(kPiece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)kPiece * count, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, (MPI_Offset)kPiece * index, MPI_BYTE, type, "native", MPI_INFO_NULL));
  MPI_Type_free(&piece);
  MPI_Type_free(&type);
}

/* A file that only this thread has. */
static void use_own(int number, int round) {
  char name[256];
  MPI_File file;
  MPI_Info used;
  MPI_Offset size = -1;
  snprintf(name, sizeof name, "%s-%d-%d", path, check_rank, number);
  OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  set_view(file, 0, 3);
  move(file, number, round, 0, kShort);
  OK(MPI_File_get_size(file, &size));
  CHECK(size == 3 * kShort - 2 * kPiece, "%lld", (long long)size);
  OK(MPI_File_get_info(file, &used));
  MPI_Info_free(&used);
  OK(MPI_File_close(&file));
}

static void* run(void* argument) {
  const int number = *(const int*)argument;
  long before = -1;
  pthread_barrier_wait(&met);
  for (int round = 0; round < rounds; ++round) {
    move(all, number, round, (MPI_Offset)number * kBytes, kShort);
    move(all, number, round, (MPI_Offset)number * kBytes + kShort, kLong);
    use_own(number, round);
    MPI_Offset place = -1;
    OK(MPI_File_get_position_shared(all, &place));
    CHECK(place >= before, "%lld behind %ld", (long long)place, before);
    before = (long)place;
    OK(MPI_File_read_shared(all, &place, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  int numbers[kThreads], level;
  check_start_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  MPI_Query_thread(&level);
  int job = (int)getpid();
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  rounds = argc > 1 ? atoi(argv[1]) : 10;
  snprintf(path, sizeof path, "%s/dunlin-files-threads-%d", check_folder(), job);
  if (level < MPI_THREAD_MULTIPLE) return check_end();
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &all));
  set_view(all, check_rank, check_size);
  pthread_barrier_init(&met, NULL, kThreads);
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, run, &numbers[i]) == 0, " ");
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Offset place = -1;
  OK(MPI_File_get_position_shared(all, &place));
  CHECK(place == (MPI_Offset)kThreads * rounds * check_size, "%lld", (long long)place);
  OK(MPI_File_close(&all));
  return check_end();
}
