/* Files where programs are odd: far offsets, views that overlap, requests let go, split calls out of order,
 * odd hints, threads, errors of one rank, files that others shorten, devices.
 * variants: none */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")
#define FAILS(call, expected)                \
  do {                                       \
    int of = class_of(call);                 \
    CHECK(of == (expected), "class %d", of); \
  } while (0)

static char path[256];
static MPI_File file;
static MPI_Status status;

static int class_of(int error) {
  int error_class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
  return error_class;
}

static void open_file(MPI_Info info) {
  const int mode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
  OK(MPI_File_open(MPI_COMM_WORLD, path, mode, info, &file));
}

static int count_of(MPI_Datatype type) {
  int count = -1;
  MPI_Get_count(&status, type, &count);
  return count;
}

/* Beyond byte 2^63, in files and in views with holes: an error, and the pointer stays. */
static void far_away(void) {
  char data[100] = "";
  MPI_Offset place = 0;
  const MPI_Offset end = 0x7fffffffffffffffLL;
  MPI_Datatype vector;
  open_file(MPI_INFO_NULL);
  OK(MPI_File_seek(file, end - 10, MPI_SEEK_SET));
  FAILS(MPI_File_read(file, data, 100, MPI_BYTE, &status), MPI_ERR_ARG);
  MPI_File_get_position(file, &place);
  CHECK(place == end - 10, "%lld", (long long)place);
  FAILS(MPI_File_write_at_all(file, end - 10, data, 100, MPI_BYTE, &status), MPI_ERR_ARG);
  FAILS(MPI_File_seek(file, end, MPI_SEEK_CUR), MPI_ERR_ARG);
  OK(MPI_File_read_at(file, end - 10, data, 10, MPI_BYTE, &status));
  CHECK(count_of(MPI_BYTE) == 0, " ");
  MPI_Type_vector(16, 1, 1000, MPI_BYTE, &vector);
  MPI_Type_commit(&vector);
  OK(MPI_File_set_view(file, 0, MPI_BYTE, vector, "native", MPI_INFO_NULL));
  FAILS(MPI_File_read_at(file, (MPI_Offset)1 << 60, data, 10, MPI_BYTE, &status), MPI_ERR_ARG);
  FAILS(MPI_File_get_byte_offset(file, (MPI_Offset)1 << 60, &place), MPI_ERR_ARG);
  OK(MPI_File_get_byte_offset(file, (MPI_Offset)1 << 50, &place));
  CHECK(place / 15001 == ((MPI_Offset)1 << 50) / 16, "%lld", (long long)place);
  OK(MPI_File_read_at_all(file, (MPI_Offset)1 << 60, data, 0, MPI_BYTE, &status));
  OK(MPI_File_set_view(file, end - 100, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  FAILS(MPI_File_write_at(file, 1000, data, 1, MPI_BYTE, &status), MPI_ERR_ARG);
  MPI_Type_free(&vector);
  MPI_File_close(&file);
}

/* Accesses by the shared pointer that no file has room for leave it where it is. */
static void shared_far_away(void) {
  const MPI_Offset start = 0x7fffffffffffffffLL - 5;
  char data[10] = "";
  MPI_Offset place = 0;
  open_file(MPI_INFO_NULL);
  OK(MPI_File_seek_shared(file, start, MPI_SEEK_SET));
  FAILS(MPI_File_write_ordered(file, data, 10, MPI_BYTE, &status), MPI_ERR_ARG);
  FAILS(MPI_File_read_ordered(file, data, check_rank == 0 ? 6 : 0, MPI_BYTE, &status), MPI_ERR_ARG);
  FAILS(MPI_File_write_shared(file, data, 10, MPI_BYTE, &status), MPI_ERR_ARG);
  OK(MPI_File_read_ordered(file, data, check_rank == 0 ? 5 : 0, MPI_BYTE, &status));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_get_position_shared(file, &place));
  CHECK(place == start + 5, "%lld", (long long)place);
  OK(MPI_File_close(&file));
}

/* A filetype may overlap itself where the file is only read; a run that begins early may end late. */
static void overlaps(void) {
  const int lengths[] = {5000, 10, 10}, starts[] = {0, 10, 20};
  MPI_Datatype type;
  MPI_File reader;
  int i, way;
  unsigned char out[6000], in[5020];
  for (i = 0; i < 6000; ++i) out[i] = (unsigned char)(i * 7 + i / 100);
  open_file(MPI_INFO_NULL);
  MPI_File_write_at(file, 0, out, 6000, MPI_BYTE, &status);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_indexed(3, lengths, starts, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  FAILS(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL), MPI_ERR_IO);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &reader));
  OK(MPI_File_set_view(reader, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
  for (way = 0; way < 3; ++way) {
    memset(in, 0, sizeof in);
    MPI_File_set_atomicity(reader, way == 2);
    if (way == 0)
      MPI_File_read_at(reader, 0, in, 5020, MPI_BYTE, &status);
    else
      MPI_File_read_at_all(reader, 0, in, 5020, MPI_BYTE, &status);
    CHECK(count_of(MPI_BYTE) == 5020 && memcmp(in, out, 5000) == 0 && memcmp(in + 5000, out + 10, 20) == 0,
          "way %d", way);
  }
  MPI_Type_free(&type);
  MPI_File_close(&reader);
  MPI_File_close(&file);
}

/* Closing waits for accesses whose requests are gone. */
static void let_go(void) {
  enum { kBytes = 4 << 20 };
  char* data = malloc(kBytes);
  MPI_Request request;
  MPI_File reader;
  memset(data, check_rank + 1, kBytes);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  MPI_File_iwrite_at_all(file, (MPI_Offset)kBytes * check_rank, data, kBytes, MPI_BYTE, &request);
  MPI_Request_free(&request);
  MPI_File_close(&file);
  memset(data, 0, kBytes);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &reader));
  const int next = (check_rank + 1) % check_size;
  MPI_File_read_at(reader, (MPI_Offset)kBytes * next, data, kBytes, MPI_BYTE, &status);
  CHECK(count_of(MPI_BYTE) == kBytes, " ");
  CHECK(data[0] == next + 1 && data[kBytes - 1] == data[0], "%d", data[0]);
  MPI_File_close(&reader);
  free(data);
}

static void split_calls(void) {
  char data[10] = "split";
  open_file(MPI_INFO_NULL);
  FAILS(MPI_File_read_all_end(file, data, &status), MPI_ERR_OTHER);
  OK(MPI_File_write_at_all_begin(file, 10 * check_rank, data, 10, MPI_BYTE));
  FAILS(MPI_File_write_all_begin(file, data, 10, MPI_BYTE), MPI_ERR_OTHER);
  FAILS(MPI_File_write_all_end(file, data, &status), MPI_ERR_OTHER);
  FAILS(MPI_File_close(&file), MPI_ERR_OTHER);
  OK(MPI_File_write_at_all_end(file, data, &status));
  FAILS(MPI_File_write_at_all_end(file, data, &status), MPI_ERR_OTHER);
  OK(MPI_File_close(&file));
}

/* One rank's error is its own: the others' parts are done, by every way to work together. */
static void errors_of_one(void) {
  const int is_odd = check_rank == check_size - 1;
  int data[4] = {1, 2, 3, 4}, in[4];
  MPI_Offset where = is_odd ? -5 : 0;
  MPI_Datatype type;
  MPI_Request request;
  int way, error = MPI_SUCCESS;
  MPI_Type_vector(4, 1, check_size, MPI_INT, &type);
  MPI_Type_commit(&type);
  open_file(MPI_INFO_NULL);
  OK(MPI_File_set_view(file, 4 * check_rank, MPI_INT, type, "native", MPI_INFO_NULL));
  FAILS(MPI_File_set_size(file, is_odd ? -1 : 5), check_size > 1 ? MPI_ERR_NOT_SAME : MPI_ERR_ARG);
  FAILS(MPI_File_preallocate(file, is_odd ? -1 : 5), check_size > 1 ? MPI_ERR_NOT_SAME : MPI_ERR_ARG);
  for (way = 0; way < 3; ++way) {
    memset(in, 0, sizeof in);
    if (way == 0) error = MPI_File_write_at_all(file, where, data, 4, MPI_INT, &status);
    if (way == 1) error = MPI_File_iwrite_at_all(file, where, data, 4, MPI_INT, &request);
    if (way == 2) error = MPI_File_write_at_all_begin(file, where, data, 4, MPI_INT);
    CHECK(class_of(error) == (is_odd ? MPI_ERR_ARG : MPI_SUCCESS), "way %d: class %d", way, class_of(error));
    if (way == 1 && !is_odd) MPI_Wait(&request, &status);
    if (way == 2 && !is_odd) OK(MPI_File_write_at_all_end(file, data, &status));
    MPI_File_sync(file);
    MPI_File_read_at_all(file, 0, in, is_odd ? 0 : 4, MPI_INT, &status);
    CHECK(is_odd || memcmp(in, data, sizeof in) == 0, "way %d", way);
  }
  MPI_Type_free(&type);
  MPI_File_close(&file);
}

/* Bytes that this process has given to write calls. */
static long long written(void) {
  char line[64];
  long long bytes = -1;
  FILE* const io = fopen("/proc/self/io", "r");
  while (io && fgets(line, sizeof line, io)) sscanf(line, "wchar: %lld", &bytes);
  if (io) fclose(io);
  return bytes;
}

static void shows(MPI_File of, const char* key, const char* wanted) {
  char value[64] = "";
  int flag = 0;
  MPI_Info info;
  MPI_File_get_info(of, &info);
  MPI_Info_get(info, key, 63, value, &flag);
  CHECK(flag && strcmp(value, wanted) == 0, "%s is \"%s\", not \"%s\"", key, value, wanted);
  MPI_Info_free(&info);
}

/* Odd hints are ignored; those that make sense act, and are shown as they do. */
static void hints(void) {
  enum { kInts = 1 << 14 };
  MPI_Info info;
  MPI_Datatype type;
  struct stat facts;
  int *data = malloc(4 * kInts), i;
  MPI_Info_create(&info);
  MPI_Info_set(info, "file_perm", "hello");
  MPI_Info_set(info, "cb_buffer_size", "-12x");
  MPI_Info_set(info, "cb_nodes", "99999999999999999999");
  MPI_Info_set(info, "romio_cb_write", "perhaps");
  MPI_Info_set(info, "no_such_hint", "kept");
  open_file(info);
  stat(path, &facts);
  CHECK(facts.st_mode & 0400, "%o", facts.st_mode);
  MPI_Barrier(MPI_COMM_WORLD); /* closing deletes it */
  shows(file, "no_such_hint", "kept");
  if (!getenv("DUNLIN_FILE_COLLECTIVE_BYTES")) shows(file, "cb_buffer_size", "262144");
  shows(file, "file_perm", "666");
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Info_set(info, "file_perm", "600");
  MPI_Info_set(info, "cb_buffer_size", "65536");
  MPI_Info_set(info, "cb_nodes", check_rank ? "2" : "1");
  MPI_Info_set(info, "romio_cb_write", "enable");
  open_file(info);
  stat(path, &facts);
  CHECK((facts.st_mode & 0777) == 0600, "%o", facts.st_mode);
  for (i = 0; i < kInts; ++i) data[i] = check_rank + i;
  MPI_Type_vector(kInts, 1, check_size, MPI_INT, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, 4 * check_rank, MPI_INT, type, "native", MPI_INFO_NULL));
  const long long before = written();
  OK(MPI_File_write_all(file, data, kInts, MPI_INT, &status));
  const long long mine = written() - before;
  shows(file, "cb_nodes", "1");
  shows(file, "cb_buffer_size", "65536");
  shows(file, "file_perm", "600");
  /* Rank 0 alone has written, for all. */
  if (check_size > 1 && check_rank == 0 && before >= 0)
    CHECK(mine >= 4LL * kInts * check_size, "rank 0 has written %lld bytes", mine);
  if (check_rank > 0) CHECK(mine < 4LL * kInts, "%lld bytes", mine);
  /* Each its own, where working together is forbidden for writing only. */
  MPI_Info_set(info, "romio_cb_write", "disable");
  MPI_Info_set(info, "romio_ds_write", "disable");
  OK(MPI_File_set_view(file, 4 * check_rank, MPI_INT, type, "native", info));
  const long long again = written();
  OK(MPI_File_write_all(file, data, kInts, MPI_INT, &status));
  if (again >= 0) CHECK(written() - again >= 4LL * kInts, "%lld bytes", written() - again);
  MPI_Type_free(&type);
  MPI_File_close(&file);
  MPI_Info_free(&info);
  free(data);
}

/* The shared memory of collective accesses follows the hints: more aggregators and larger windows than
 * before, but not those of a view that is refused. */
static void changed_hints(void) {
  enum { kInts = 100000 };
  int *out = malloc(kInts * sizeof *out), *in = calloc(kInts, sizeof *in);
  MPI_Info info;
  MPI_Datatype every;
  for (int i = 0; i < kInts; ++i) out[i] = i * check_size + check_rank;
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * check_size, &every);
  MPI_Type_commit(&every);
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_cb_read", "enable");
  open_file(MPI_INFO_NULL);
  for (int aggregators = 1; aggregators <= 4; ++aggregators) {
    char number[8];
    snprintf(number, sizeof number, "%d", aggregators);
    MPI_Info_set(info, "cb_nodes", number);
    MPI_Info_set(info, "cb_buffer_size", "4096");
    OK(MPI_File_set_view(file, 4 * check_rank, MPI_INT, every, "native", info));
    MPI_Info_set(info, "cb_buffer_size", "16777216");
    FAILS(MPI_File_set_view(file, 4 * check_rank, MPI_INT, every, "babylonian", info),
          MPI_ERR_UNSUPPORTED_DATAREP);
    out[0] += aggregators;
    OK(MPI_File_write_at_all(file, 0, out, kInts, MPI_INT, &status));
    OK(MPI_File_read_at_all(file, 0, in, kInts, MPI_INT, &status));
    CHECK(memcmp(in, out, kInts * sizeof *in) == 0, "%d aggregators", aggregators);
  }
  OK(MPI_File_close(&file));
  MPI_Info_free(&info);
  MPI_Type_free(&every);
  free(in);
  free(out);
}

static void* share(void* argument) {
  int value = 1, i;
  for (i = 0; i < 50; ++i) OK(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  return argument;
}

/* The shared pointer, by several threads, and ordered calls with nothing on some ranks. */
static void shared_pointer(int has_threads) {
  pthread_t threads[3];
  MPI_Offset place = 0;
  int i, values[8], count = check_rank % 3;
  for (i = 0; i < 8; ++i) values[i] = 10 * check_rank + i;
  open_file(MPI_INFO_NULL);
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (i = 0; i < 3; ++i)
    if (!has_threads || pthread_create(&threads[i], NULL, share, NULL) != 0) share(NULL);
  for (i = 0; has_threads && i < 3; ++i) pthread_join(threads[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_get_position_shared(file, &place));
  CHECK(place == 150 * check_size, "%lld", (long long)place);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_seek_shared(file, 5, MPI_SEEK_SET));
  OK(MPI_File_write_ordered(file, values, count, MPI_INT, &status));
  CHECK(count_of(MPI_INT) == count, " ");
  for (place = 5, i = 0; i < check_rank; ++i) place += i % 3;
  memset(values, 0, sizeof values);
  OK(MPI_File_read_at(file, place, values, count, MPI_INT, &status));
  for (i = 0; i < count; ++i) CHECK(values[i] == 10 * check_rank + i, "%d", values[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
}

/* What others cut off is not read, and the status says so; between the ranks' pieces as at the end. */
static void shortened(void) {
  enum { kInts = 3000 };
  MPI_Datatype type;
  int *in = malloc(4 * kInts), way, i, wanted = 0;
  MPI_Request request;
  MPI_Type_vector(kInts, 1, check_size, MPI_INT, &type);
  MPI_Type_commit(&type);
  open_file(MPI_INFO_NULL);
  OK(MPI_File_set_size(file, 4 * kInts * check_size));
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) CHECK(truncate(path, 4002) == 0, " ");
  MPI_Barrier(MPI_COMM_WORLD);
  for (i = check_rank; i < 1000; i += check_size) wanted += 4;
  if (1000 % check_size == check_rank) wanted += 2;
  OK(MPI_File_set_view(file, 4 * check_rank, MPI_INT, type, "native", MPI_INFO_NULL));
  for (way = 0; way < 3; ++way) {
    if (way == 0) MPI_File_read_at(file, 0, in, kInts, MPI_INT, &status);
    if (way == 1) MPI_File_read_at_all(file, 0, in, kInts, MPI_INT, &status);
    if (way == 2) {
      MPI_File_iread_at_all(file, 0, in, kInts, MPI_INT, &request);
      MPI_Wait(&request, &status);
    }
    CHECK(count_of(MPI_BYTE) == wanted, "way %d: %d bytes, not %d", way, count_of(MPI_BYTE), wanted);
  }
  MPI_Type_free(&type);
  MPI_File_close(&file);
  free(in);
}

/* Two files, whose nonblocking collectives come in another order on every other rank. */
static void crossed(void) {
  enum { kInts = 1 << 16 };
  MPI_File files[2];
  MPI_Request requests[2];
  MPI_Datatype type;
  int *out = malloc(4 * kInts), *in = malloc(4 * kInts), i, round;
  MPI_Type_vector(kInts, 1, check_size, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (i = 0; i < kInts; ++i) out[i] = check_rank + 3 * i;
  for (i = 0; i < 2; ++i) {
    snprintf(path + strlen(path) - 1, 2, "%d", i);
    open_file(MPI_INFO_NULL);
    files[i] = file;
    OK(MPI_File_set_view(file, 4 * check_rank, MPI_INT, type, "native", MPI_INFO_NULL));
  }
  for (round = 0; round < 2; ++round) {
    const int first = check_rank % 2;
    for (i = 0; i < 2; ++i)
      OK(round ? MPI_File_iread_at_all(files[i ^ first], 0, in, i ? 0 : kInts, MPI_INT, &requests[i])
               : MPI_File_iwrite_at_all(files[i ^ first], 0, out, kInts, MPI_INT, &requests[i]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
  CHECK(memcmp(in, out, 4 * kInts) == 0, " ");
  for (i = 0; i < 2; ++i) MPI_File_close(&files[i]);
  MPI_Type_free(&type);
  free(out);
  free(in);
}

/* That a file can have here: ext4 and its servers take less than 2^63. */
static MPI_Offset bytes_max(void) {
  MPI_Offset found = 0;
  open_file(MPI_INFO_NULL);
  for (MPI_Offset step = (MPI_Offset)1 << 62; check_rank == 0 && step > 0; step /= 2)
    found += truncate(path, found + step) == 0 ? step : 0;
  OK(MPI_File_close(&file));
  MPI_Bcast(&found, 1, MPI_OFFSET, 0, MPI_COMM_WORLD);
  return found;
}

/* Short pieces up to the last byte that a file can have. */
static void far_end(void) {
  enum { kPieces = 100 };
  const MPI_Offset end = bytes_max() - 4 * kPieces * check_size;
  char out[4 * kPieces], in[4 * kPieces];
  MPI_Datatype type;
  MPI_Info info;
  memset(out, 1 + check_rank, sizeof out);
  MPI_Type_vector(kPieces, 4, 4 * check_size, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  for (int together = 0; together < 2; ++together) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "collective_buffering", together ? "true" : "false");
    open_file(info);
    OK(MPI_File_set_view(file, end + 4 * check_rank, MPI_BYTE, type, "native", info));
    OK(MPI_File_write_at_all(file, 0, out, sizeof out, MPI_BYTE, &status));
    MPI_File_sync(file);
    memset(in, 0, sizeof in);
    OK(MPI_File_read_at_all(file, 0, in, sizeof in, MPI_BYTE, &status));
    CHECK(memcmp(in, out, sizeof in) == 0, "together %d", together);
    OK(MPI_File_close(&file));
    MPI_Info_free(&info);
  }
  MPI_Type_free(&type);
}

/* A device is no file whose pages could be mapped. */
static void devices(void) {
  const char data[4000] = "";
  MPI_Datatype type;
  int way;
  MPI_Type_vector(1000, 4, 8, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  for (way = 0; way < 2; ++way) {
    OK(MPI_File_open(MPI_COMM_WORLD, way ? "/dev/full" : "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
    FAILS(MPI_File_write_at(file, 0, data, 4000, MPI_BYTE, &status), way ? MPI_ERR_NO_SPACE : MPI_SUCCESS);
    MPI_File_close(&file);
  }
  MPI_Type_free(&type);
}

/* What could not be opened by all leaves no file behind, so that it can be tried again. */
static void exclusive(void) {
  const int mode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE;
  const int is_odd = check_size > 1 && check_rank == check_size - 1;
  const int error =
      MPI_File_open(MPI_COMM_WORLD, is_odd ? "/dev/null/none" : path, mode, MPI_INFO_NULL, &file);
  CHECK((error == MPI_SUCCESS) == (check_size == 1), "class %d", class_of(error));
  if (error == MPI_SUCCESS) MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
  OK(MPI_File_close(&file));
}

static int synced;

/* The library's calls come here. */
__attribute__((visibility("default"))) int fsync(int descriptor) {
  ++synced;
  return fdatasync(descriptor);
}

/* Who has written for others sees to the disk, too: on several nodes nobody else could.  What is deleted need
 * not lie there. */
static void syncs_for_others(void) {
  enum { kPieces = 10000 };
  static char data[4 * kPieces];
  const int has_data = check_size == 1 || check_rank < check_size - 1;
  MPI_Datatype type;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "collective_buffering", "true");
  MPI_Info_set(info, "cb_buffer_size", "4096");
  MPI_Type_vector(kPieces, 4, 4 * check_size, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  open_file(info);
  OK(MPI_File_set_view(file, 4 * check_rank, MPI_BYTE, type, "native", info));
  OK(MPI_File_write_at_all(file, 0, data, has_data ? sizeof data : 0, MPI_BYTE, &status));
  synced = 0;
  OK(MPI_File_sync(file));
  CHECK(synced == 1, "%d", synced);
  OK(MPI_File_write_at_all(file, 0, data, has_data ? sizeof data : 0, MPI_BYTE, &status));
  OK(MPI_File_close(&file));
  CHECK(synced == 1, "%d", synced);
  MPI_Type_free(&type);
  MPI_Info_free(&info);
}

/* Windows of another length than before, in memory in which data was: what nobody wrote stays a hole. */
static void windows_change(void) {
  enum { kBytes = 1 << 18, kPiece = 64 };
  static unsigned char data[kBytes];
  MPI_Datatype piece, filetype;
  MPI_Info info;
  int i, round;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  open_file(info);
  memset(data, 0xff, sizeof data);
  for (round = 0; round < 2; ++round) {
    MPI_Info_set(info, "cb_buffer_size", round == 0 ? "65536" : "8192");
    OK(MPI_File_set_size(file, 0));
    MPI_Type_contiguous(kPiece, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (round == 0 ? 1 : 2) * kPiece * check_size, &filetype);
    MPI_Type_commit(&filetype);
    OK(MPI_File_set_view(file, kPiece * check_rank, MPI_BYTE, filetype, "native", info));
    OK(MPI_File_write_at_all(file, 0, data, kBytes / (2 * check_size) / kPiece * kPiece, MPI_BYTE, &status));
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&piece);
    MPI_Type_free(&filetype);
  }
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info));
  OK(MPI_File_read_at(file, 0, data, kBytes, MPI_BYTE, &status));
  for (i = 0; i < count_of(MPI_BYTE); ++i)
    CHECK(data[i] == (i / (kPiece * check_size) % 2 ? 0 : 0xff), "byte %d is %d", i, data[i]);
  MPI_Info_free(&info);
  OK(MPI_File_close(&file));
}

/* A matrix that is dealt out in blocks of 3 x 5: what each rank writes in its order, alone or together. */
static void dealt_out(int is_collective) {
  enum { kRows = 63, kColumns = 49, kAll = kRows * kColumns };
  const int sizes[] = {kRows, kColumns}, blocks[] = {3, 5};
  const int deal[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
  static int mine[kAll], found[kAll];
  int parts[2] = {0, 0}, *counts = calloc((size_t)check_size, sizeof *counts), bytes;
  MPI_Datatype type;
  MPI_Dims_create(check_size, 2, parts);
  MPI_Type_create_darray(check_size, check_rank, 2, sizes, deal, blocks, parts, MPI_ORDER_C, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Type_size(type, &bytes);
  open_file(MPI_INFO_NULL);
  OK(MPI_File_set_view(file, 8, MPI_INT, type, "native", MPI_INFO_NULL));
  for (int i = 0; i < kAll; ++i) mine[i] = check_rank * kAll + i;
  if (is_collective)
    OK(MPI_File_write_all(file, mine, bytes / (int)sizeof(int), MPI_INT, MPI_STATUS_IGNORE));
  else
    OK(MPI_File_write(file, mine, bytes / (int)sizeof(int), MPI_INT, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at(file, 0, found, kAll, MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 0; i < kAll; ++i) {
    const int row = i / kColumns / blocks[0] % parts[0], column = i % kColumns / blocks[1] % parts[1];
    const int owner = row * parts[1] + column;
    CHECK(found[i] == owner * kAll + counts[owner], "number %d is %d", i, found[i]);
    ++counts[owner];
  }
  MPI_Type_free(&type);
  MPI_File_close(&file);
  free(counts);
}

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE, job = (int)getpid();
  check_start_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  MPI_Query_thread(&level);
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin-files-edges-%d-0", check_folder(), job);
  far_away();
  shared_far_away();
  overlaps();
  let_go();
  split_calls();
  errors_of_one();
  hints();
  changed_hints();
  shared_pointer(level == MPI_THREAD_MULTIPLE);
  shortened();
  crossed();
  far_end();
  devices();
  exclusive();
  syncs_for_others();
  windows_change();
  dealt_out(0);
  dealt_out(1);
  return check_end();
}
