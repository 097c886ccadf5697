/* Files: opening and its errors, views, pointers, blocking and nonblocking access, hints, data
 * representations. Every rank finds what every rank has written.
 * variants: none */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

static char path[256];
static MPI_File file;

static void open_file(int amode) {
  int error = MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file);
  CHECK(error == MPI_SUCCESS, "%d", error);
}

static int class_of(int error) {
  int error_class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
  return error_class;
}

#define FAILS(call, expected) CHECK(class_of(call) == (expected), "class %d", class_of(call))

/* Where opening fails, a file goes again that has just been created, and no other. */
static void exclusive(void) {
  MPI_File other = MPI_FILE_NULL;
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  const struct rlimit none = {0, limit.rlim_max};
  const int new = MPI_MODE_CREATE | MPI_MODE_EXCL;
  FAILS(MPI_File_open(MPI_COMM_WORLD, path, new | (check_rank ? MPI_MODE_WRONLY : MPI_MODE_RDWR),
                      MPI_INFO_NULL, &other),
        MPI_ERR_NOT_SAME);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(access(path, F_OK) != 0, "the file has stayed");
  MPI_Barrier(MPI_COMM_WORLD);
  open_file(MPI_MODE_RDWR | new);
  MPI_File_close(&file);
  if (check_rank == 1) setrlimit(RLIMIT_NOFILE, &none);
  FAILS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_EXCL, MPI_INFO_NULL, &other),
        MPI_ERR_IO);
  if (check_rank == 1) setrlimit(RLIMIT_NOFILE, &limit);
  CHECK(access(path, F_OK) == 0, "the file has gone");
  open_file(MPI_MODE_RDWR | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank deletes what is there before it opens a new file, and some are late: all have the same one. */
static void deleted_before(int amode) {
  int data = -1;
  MPI_Status status;
  usleep(20000 * (unsigned)check_rank);
  unlink(path);
  open_file(amode | MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
  if (check_rank == 0) MPI_File_write_at(file, 0, &check_size, 1, MPI_INT, &status);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, 0, &data, 1, MPI_INT, &status);
  CHECK(data == check_size, "amode 0x%x: %d", (unsigned)amode, data);
  MPI_File_close(&file);
}

static void opening(void) {
  MPI_File other = MPI_FILE_NULL;
  MPI_Offset size = -1;
  int amode = 0;
  FAILS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &other), MPI_ERR_NO_SUCH_FILE);
  CHECK(other == MPI_FILE_NULL, " ");
  FAILS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &other),
        MPI_ERR_AMODE);
  FAILS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE, MPI_INFO_NULL, &other), MPI_ERR_AMODE);
  FAILS(MPI_File_open(MPI_COMM_WORLD, "/no/such/folder/x", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                      &other),
        MPI_ERR_NO_SUCH_FILE);
  FAILS(MPI_File_open(MPI_COMM_WORLD, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &other), MPI_ERR_BAD_FILE);
  FAILS(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  MPI_Barrier(MPI_COMM_WORLD);
  open_file(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL);
  FAILS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL,
                      &other),
        MPI_ERR_FILE_EXISTS);
  MPI_File_get_size(file, &size);
  MPI_File_get_amode(file, &amode);
  CHECK(size == 0 && amode == (MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL), " ");
  CHECK(MPI_File_set_size(file, (MPI_Offset)1 << 41) == MPI_SUCCESS, " ");
  MPI_File_get_size(file, &size);
  CHECK(size == (MPI_Offset)1 << 41, "%lld", (long long)size);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_set_size(file, 0);
  MPI_File_preallocate(file, 10000);
  MPI_File_get_size(file, &size);
  CHECK(size == 10000, "%lld", (long long)size);
  FAILS(MPI_File_write_at(file, -1, &amode, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  FAILS(MPI_File_close(&other), MPI_ERR_FILE);
  MPI_File_close(&file);
  CHECK(file == MPI_FILE_NULL, " ");
  open_file(MPI_MODE_RDONLY);
  FAILS(MPI_File_write_at(file, 0, &amode, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  FAILS(MPI_File_set_size(file, 0), MPI_ERR_READ_ONLY);
  MPI_File_close(&file);
  open_file(MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE);
  FAILS(MPI_File_read_at(file, 0, &amode, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  MPI_File_close(&file);
  CHECK(access(path, F_OK) != 0, "the file is still there");
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(chdir(check_folder()) == 0, " ");
  MPI_File_open(MPI_COMM_WORLD, strrchr(path, '/') + 1,
                MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  CHECK(chdir("/") == 0, " ");
  CHECK(MPI_File_close(&file) == MPI_SUCCESS && access(path, F_OK) != 0, "deleted from another folder");
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_size > 1) {
    const int mode = MPI_MODE_RDWR | MPI_MODE_CREATE | (check_rank ? MPI_MODE_UNIQUE_OPEN : 0);
    FAILS(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &other), MPI_ERR_NOT_SAME);
    MPI_Barrier(MPI_COMM_WORLD);
    unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    exclusive();
  }
}

/* Blocks of `block` ints, those of all ranks in turn. */
static void interleaved(int block, int blocks, int is_collective, int has_gaps) {
  MPI_Datatype filetype, memtype;
  MPI_Status status;
  MPI_Offset offset, place;
  const int n = block * blocks;
  int i, count, *out = malloc(sizeof(int) * n * 2), *in = malloc(sizeof(int) * n * 2);
  for (i = 0; i < 2 * n; ++i) out[i] = i % 2 && has_gaps ? -1 : check_rank * 1000000 + i;
  MPI_Type_vector(blocks, block, block * check_size, MPI_INT, &filetype);
  MPI_Type_create_resized(filetype, 0, (MPI_Aint)n * check_size * 4, &filetype);
  MPI_Type_commit(&filetype);
  MPI_Type_vector(n, 1, has_gaps ? 2 : 1, MPI_INT, &memtype);
  MPI_Type_commit(&memtype);
  open_file(MPI_MODE_RDWR | MPI_MODE_CREATE);
  CHECK(MPI_File_set_view(file, 12 + (MPI_Offset)check_rank * block * 4, MPI_INT, filetype, "native",
                          MPI_INFO_NULL) == MPI_SUCCESS,
        " ");
  if (is_collective)
    MPI_File_write_all(file, out, 1, memtype, &status);
  else
    MPI_File_write(file, out, 1, memtype, &status);
  MPI_Get_count(&status, memtype, &count);
  CHECK(count == 1, "%d", count);
  MPI_File_get_position(file, &offset);
  CHECK(offset == n, "%lld", (long long)offset);
  MPI_File_get_byte_offset(file, block, &place);
  if (blocks > 1)
    CHECK(place == 12 + 4 * (MPI_Offset)(check_rank * block + block * check_size), "%lld", (long long)place);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(in, 0xee, sizeof(int) * n * 2);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  if (is_collective)
    MPI_File_read_all(file, in, 1, memtype, &status);
  else
    MPI_File_read(file, in, 1, memtype, &status);
  for (i = 0; i < n; ++i) {
    const int at = has_gaps ? 2 * i : i;
    CHECK(in[at] == out[at], "element %d of %d: %x, not %x (block %d)", i, n, in[at], out[at], block);
    if (has_gaps && i < n - 1) CHECK(in[at + 1] == (int)0xeeeeeeee, "a gap was written");
  }
  /* As bytes: everything is in its place. */
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  for (i = 0; i < n; i += 1 + n / 50) {
    const int rank = (check_rank + i) % check_size;
    int value = 0, expected = rank * 1000000 + (has_gaps ? 2 * i : i);
    const MPI_Offset at = 12 + 4 * ((MPI_Offset)(i / block * check_size + rank) * block + i % block);
    MPI_File_read_at(file, at, &value, 1, MPI_INT, &status);
    CHECK(value == expected, "at %lld: %d, not %d", (long long)at, value, expected);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&filetype);
  MPI_Type_free(&memtype);
  free(out);
  free(in);
}

static void pointers(void) {
  MPI_Offset offset;
  MPI_Status status;
  MPI_Request request;
  int i, value, count, *seen = calloc(check_size * 4, sizeof *seen);
  open_file(MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  value = check_rank;
  MPI_File_write_shared(file, &value, 1, MPI_INT, &status);
  MPI_File_iwrite_shared(file, &value, 1, MPI_INT, &request);
  MPI_Wait(&request, &status);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_position_shared(file, &offset);
  CHECK(offset == 2 * check_size, "%lld", (long long)offset);
  MPI_File_read_at(file, 0, seen, 2 * check_size, MPI_INT, &status);
  for (count = 0, i = 0; i < 2 * check_size; ++i) count += seen[i] == check_rank;
  CHECK(count == 2, "%d", count);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  for (i = 0; i <= check_rank % 3; ++i) seen[i] = 100 * check_rank + i;
  MPI_File_write_ordered(file, seen, check_rank % 3 + 1, MPI_INT, &status);
  MPI_File_get_position_shared(file, &offset);
  for (count = 0, i = 0; i < check_size; ++i) count += i % 3 + 1;
  CHECK(offset == count, "%lld", (long long)offset);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek_shared(file, -count, MPI_SEEK_CUR);
  memset(seen, 0xff, sizeof(int) * check_size * 4);
  MPI_File_read_ordered_begin(file, seen, check_rank % 3 + 1, MPI_INT);
  FAILS(MPI_File_read_all_begin(file, seen, 1, MPI_INT), MPI_ERR_OTHER);
  MPI_File_read_ordered_end(file, seen, &status);
  for (i = 0; i <= check_rank % 3; ++i) CHECK(seen[i] == 100 * check_rank + i, "%d", seen[i]);
  MPI_File_seek(file, 0, MPI_SEEK_END);
  MPI_File_get_position(file, &offset);
  CHECK(offset == (2 * check_size > count ? 2 * check_size : count), "%lld", (long long)offset);
  MPI_File_read(file, &value, 1, MPI_INT, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 0, "%d behind the end", count);
  FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_get_position(file, &offset);
  CHECK(offset > 8, "%lld", (long long)offset);
  MPI_File_close(&file);
  open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE);
  FAILS(MPI_File_write_at(file, 0, &value, 1, MPI_INT, &status), MPI_ERR_UNSUPPORTED_OPERATION);
  FAILS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(MPI_File_write_shared(file, &value, 1, MPI_INT, &status) == MPI_SUCCESS, " ");
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) ==
            MPI_SUCCESS,
        " ");
  MPI_File_close(&file);
  free(seen);
}

/* Large enough for the thread. */
static void nonblocking(void) {
  enum { kInts = 1 << 18 };
  int i, round, *out = malloc(4 * kInts), *in = malloc(4 * kInts);
  MPI_Request requests[4];
  MPI_Status statuses[4];
  for (i = 0; i < kInts; ++i) out[i] = check_rank + i;
  open_file(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
  for (round = 0; round < 2; ++round) {
    const MPI_Offset mine = (MPI_Offset)4 * kInts * check_rank;
    MPI_File_set_atomicity(file, round);
    for (i = 0; i < 4; ++i)
      MPI_File_iwrite_at(file, mine + i * kInts, out + i * (kInts / 4), kInts / 4, MPI_INT, &requests[i]);
    MPI_Waitall(4, requests, statuses);
    memset(in, 0, 4 * kInts);
    MPI_File_iread_at_all(file, mine, in, kInts, MPI_INT, &requests[0]);
    MPI_Wait(&requests[0], &statuses[0]);
    MPI_Get_count(&statuses[0], MPI_INT, &i);
    CHECK(i == kInts, "%d", i);
    CHECK(memcmp(in, out, 4 * kInts) == 0, " ");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_write_at_all_begin(file, mine, in, kInts, MPI_INT);
    MPI_File_write_at_all_end(file, in, &statuses[0]);
    MPI_Get_count(&statuses[0], MPI_INT, &i);
    CHECK(i == kInts, "%d", i);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
  open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
  FAILS(MPI_File_iread_at(file, 0, in, 1, MPI_INT, requests), MPI_ERR_ACCESS);
  MPI_File_close(&file);
  free(out);
  free(in);
}

static int conversions;
static int extent_calls;

static int file_extent(MPI_Datatype type, MPI_Aint* extent, void* state) {
  MPI_Aint lower;
  ++extent_calls;
  MPI_Type_get_extent(type, &lower, extent);
  *extent *= 2;
  return state == &conversions ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Ints in twice the room, negated. */
static int to_memory(void* user, MPI_Datatype type, int count, void* in_file, MPI_Offset position,
                     void* state) {
  int64_t* from = in_file;
  int i, *to = (int*)user + position;
  (void)type, (void)state;
  ++conversions;
  for (i = 0; i < count; ++i) to[i] = (int)-from[i];
  return MPI_SUCCESS;
}

static int to_file(void* user, MPI_Datatype type, int count, void* in_file, MPI_Offset position,
                   void* state) {
  int64_t* to = in_file;
  int i, *from = (int*)user + position;
  (void)type, (void)state;
  ++conversions;
  for (i = 0; i < count; ++i) to[i] = -(int64_t)from[i];
  return MPI_SUCCESS;
}

static void representations(void) {
  int out[10], in[10], i, count;
  long longs[3] = {1, -2, 3}, longs_in[3];
  unsigned char bytes[8];
  int64_t wide;
  char name[MPI_MAX_DATAREP_STRING];
  MPI_Aint extent;
  MPI_Offset disp;
  MPI_Datatype etype, filetype, strided;
  MPI_Status status;
  for (i = 0; i < 10; ++i) out[i] = check_rank * 100 + i;
  open_file(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
  FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "babylonian", MPI_INFO_NULL),
        MPI_ERR_UNSUPPORTED_DATAREP);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL) == MPI_SUCCESS, " ");
  MPI_File_write_at(file, 10 * check_rank, out, 10, MPI_INT, &status);
  MPI_File_read_at(file, 10 * check_rank, in, 10, MPI_INT, &status);
  CHECK(memcmp(in, out, sizeof in) == 0, " ");
  MPI_File_get_type_extent(file, MPI_LONG, &extent);
  CHECK(extent == 4, "%ld", (long)extent);
  memset(name, 'x', sizeof name); /* programs give less room than MPI_MAX_DATAREP_STRING */
  MPI_File_get_view(file, &disp, &etype, &filetype, name);
  CHECK(disp == 0 && etype == MPI_INT && filetype == MPI_INT && strcmp(name, "external32") == 0, "%s", name);
  CHECK(name[11] == 'x', "written behind the name");
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 40 * check_rank + 4, bytes, 4, MPI_BYTE, &status);
  CHECK(bytes[3] == (unsigned char)out[1] && bytes[0] == 0, " ");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_vector(2, 1, 2, MPI_LONG, &strided);
  MPI_Type_commit(&strided);
  MPI_File_set_view(file, 64 * check_rank, MPI_LONG, strided, "external32", MPI_INFO_NULL);
  MPI_File_write_at_all(file, 0, longs, 3, MPI_LONG, &status);
  MPI_File_read_at_all(file, 0, longs_in, 3, MPI_LONG, &status);
  MPI_Get_count(&status, MPI_LONG, &count);
  CHECK(count == 3 && memcmp(longs, longs_in, sizeof longs) == 0, "%d", count);
  MPI_File_get_byte_offset(file, 1, &disp);
  CHECK(disp == 64 * check_rank + 8, "%lld", (long long)disp);
  MPI_Type_free(&strided);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Register_datarep("twofold", to_memory, to_file, file_extent, &conversions) == MPI_SUCCESS, " ");
  FAILS(MPI_Register_datarep("twofold", to_memory, to_file, file_extent, NULL), MPI_ERR_DUP_DATAREP);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "twofold", MPI_INFO_NULL) == MPI_SUCCESS, " ");
  MPI_File_write_at(file, 10 * check_rank, out, 10, MPI_INT, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  memset(in, 0, sizeof in);
  MPI_File_read_at(file, 10 * check_rank, in, 10, MPI_INT, &status);
  CHECK(count == 10 && memcmp(in, out, sizeof in) == 0 && conversions == 2 && extent_calls > 0, "%d",
        conversions);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "internal", MPI_INFO_NULL);
  MPI_File_read_at(file, 80 * check_rank + 8, &wide, 8, MPI_BYTE, &status);
  CHECK(wide == -out[1], "%lld", (long long)wide);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
}

/* Of a type that the file ends in, what is there; the program's functions count elements. */
static void parts_of_types(const char* representation) {
  struct {
    int32_t before[3];
    double value;
    int32_t after;
  } out[3], in[3];
  MPI_Datatype type;
  MPI_Status status;
  int elements;
  const int lengths[] = {3, 1, 1};
  const MPI_Aint places[] = {0, 16, 24};
  const MPI_Datatype types[] = {MPI_INT32_T, MPI_DOUBLE, MPI_INT32_T};
  MPI_Type_create_struct(3, lengths, places, types, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < 3; ++i) memset(&out[i], i + 1, sizeof out[i]);
  open_file(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, representation, MPI_INFO_NULL);
  const int surplus = strcmp(representation, "native") == 0 ? 0 : 3; /* bytes of the next element */
  const int whole[] = {0, 1, 2, 3, 4, 5}, bytes[] = {0, 4, 8, 12, 20, 24};
  for (int part = 0; part < 6; ++part) {
    if (check_rank == 0) MPI_File_write_at(file, 0, out, 2, type, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_size(file, 24 + bytes[part] + surplus);
    memset(in, 0, sizeof in);
    CHECK(MPI_File_read_at(file, 0, in, 3, type, &status) == MPI_SUCCESS, " ");
    MPI_Get_elements(&status, type, &elements);
    CHECK(elements == 5 + whole[part], "%s, part %d: %d", representation, part, elements);
    CHECK(in[0].value == out[0].value && in[0].after == out[0].after, "%s", representation);
    for (int i = 0; i < 3; ++i) CHECK(in[1].before[i] == (i < whole[part] ? out[1].before[i] : 0), "%d", i);
    CHECK(in[1].value == (whole[part] > 3 ? out[1].value : 0), "%s, part %d", representation, part);
    CHECK(in[1].after == (whole[part] > 4 ? out[1].after : 0), "%s, part %d", representation, part);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_File_close(&file);
  MPI_Type_free(&type);
}

static int counted, counted_from, counted_elsewhere;
static pthread_t program;
static int count_extent(MPI_Datatype type, MPI_Aint* extent, void* state) {
  MPI_Aint lower;
  (void)state;
  return MPI_Type_get_extent(type, &lower, extent);
}
static int count_elements(void* user, MPI_Datatype type, int count, void* in_file, MPI_Offset position,
                          void* state) {
  (void)user, (void)type, (void)in_file, (void)state;
  counted = count;
  counted_elsewhere += !pthread_equal(program, pthread_self());
  counted_from = (int)position;
  return MPI_SUCCESS;
}

/* The same with a count of any length. */
static int count_many(void* user, MPI_Datatype type, MPI_Count count, void* in_file, MPI_Offset position,
                      void* state) {
  CHECK(state == &counted, " ");
  return count_elements(user, type, (int)count, in_file, position, state);
}

static void counts_of_conversions(void) {
  int out[30] = {0};
  MPI_Datatype ten;
  MPI_Type_contiguous(10, MPI_INT, &ten);
  MPI_Type_commit(&ten);
  program = pthread_self();
  MPI_Register_datarep("counted", count_elements, count_elements, count_extent, NULL);
  open_file(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "counted", MPI_INFO_NULL);
  MPI_File_write_at_all(file, 0, out, 2, ten, MPI_STATUS_IGNORE);
  CHECK(counted == 20 && counted_from == 0, "%d from %d", counted, counted_from);
  MPI_File_read_at_all(file, 5, out, 3, ten, MPI_STATUS_IGNORE);
  CHECK(counted == 15 && counted_from == 0, "%d from %d", counted, counted_from);
  MPI_Register_datarep_c("many", count_many, MPI_CONVERSION_FN_NULL_C, count_extent, &counted);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "many", MPI_INFO_NULL) == MPI_SUCCESS, " ");
  counted = 0;
  CHECK(MPI_File_write_at_all(file, 0, out, 2, ten, MPI_STATUS_IGNORE) == MPI_SUCCESS && counted == 0, " ");
  MPI_File_read_at_all(file, 7, out, 1, ten, MPI_STATUS_IGNORE);
  CHECK(counted == 10 && counted_from == 0, "%d from %d", counted, counted_from);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "counted", MPI_INFO_NULL);
  /* The library's own thread goes on while the program sleeps, but calls no function of it. */
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "counted", info);
  MPI_Info_free(&info);
  for (int i = 0; i < 5; ++i) {
    MPI_Request request;
    MPI_File_iread_at_all(file, 0, out, 2, ten, &request);
    usleep(20000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  CHECK(counted_elsewhere == 0, "%d calls", counted_elsewhere);
  MPI_File_close(&file);
  MPI_Type_free(&ten);
}

/* What overlaps in memory but not in the file is a view, what overlaps in the file alone is none. */
static void lengths_of_views(void) {
  long out[9], in[9] = {0};
  MPI_Datatype longs, ints;
  MPI_Type_create_hvector(3, 1, 4, MPI_LONG, &longs);
  MPI_Type_create_hvector(3, 1, 4, MPI_INT, &ints);
  MPI_Type_commit(&longs);
  MPI_Type_commit(&ints);
  for (int i = 0; i < 9; ++i) out[i] = i - 5;
  open_file(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
  CHECK(MPI_File_set_view(file, 36 * check_rank, MPI_LONG, longs, "external32", MPI_INFO_NULL) == MPI_SUCCESS,
        " ");
  MPI_File_write_at(file, 0, out, 9, MPI_LONG, MPI_STATUS_IGNORE);
  MPI_File_read_at(file, 0, in, 9, MPI_LONG, MPI_STATUS_IGNORE);
  CHECK(memcmp(in, out, sizeof in) == 0, " ");
  FAILS(MPI_File_set_view(file, 0, MPI_LONG, longs, "native", MPI_INFO_NULL), MPI_ERR_IO);
  FAILS(MPI_File_set_view(file, 0, MPI_INT, ints, "twofold", MPI_INFO_NULL), MPI_ERR_IO);
  MPI_Register_datarep("unconverted", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, file_extent,
                       &conversions);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "unconverted", MPI_INFO_NULL) == MPI_SUCCESS, " ");
  FAILS(MPI_File_write_at(file, 0, out, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
  MPI_File_close(&file);
  MPI_Type_free(&longs);
  MPI_Type_free(&ints);
}

static int handled;

static void handle(MPI_File* of, int* error, ...) {
  CHECK(*of == file, " ");
  handled = *error;
}

/* The program's handler has the errors of its file, and of no other. */
static void own_handler(void) {
  MPI_Errhandler handler, back;
  int value = 0;
  MPI_File_create_errhandler(handle, &handler);
  MPI_File_set_errhandler(file, handler);
  MPI_File_get_errhandler(file, &back);
  CHECK(back == handler, " ");
  MPI_Errhandler_free(&back);
  MPI_Errhandler_free(&handler);
  handled = MPI_SUCCESS;
  FAILS(MPI_File_write_at(file, -1, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  FAILS(handled, MPI_ERR_ARG);
  MPI_File_call_errhandler(file, MPI_ERR_QUOTA);
  FAILS(handled, MPI_ERR_QUOTA);
  handled = MPI_SUCCESS;
  FAILS(MPI_File_delete("/no/such/folder/x", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  CHECK(handled == MPI_SUCCESS, " ");
}

static void shows(const char* key, const char* wanted) {
  char value[300] = "";
  int flag = 0;
  MPI_Info used;
  MPI_File_get_info(file, &used);
  MPI_Info_get(used, key, 299, value, &flag);
  CHECK(flag && strcmp(value, wanted) == 0, "%s: %s, not %s", key, value, wanted);
  MPI_Info_free(&used);
}

static void hints_and_handlers(void) {
  MPI_Info info;
  MPI_Errhandler handler;
  int flag;
  MPI_Group group;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "romio_ds_read", "disable");
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                &file);
  shows("romio_ds_read", "disable");
  shows("filename", path);
  shows("mpi_memory_alloc_kinds", "mpi,system");
  MPI_Info_set(info, "filename", "another");
  MPI_Info_set(info, "romio_ds_read", "enable");
  MPI_Info_set(info, "of_another_library", "17");
  CHECK(MPI_File_set_info(file, info) == MPI_SUCCESS, " ");
  shows("romio_ds_read", "enable");
  shows("of_another_library", "17");
  shows("filename", path);
  MPI_Info_free(&info);
  MPI_File_get_group(file, &group);
  MPI_Group_size(group, &flag);
  CHECK(flag == check_size, "%d", flag);
  MPI_Group_free(&group);
  MPI_File_get_errhandler(file, &handler);
  CHECK(handler == MPI_ERRORS_RETURN, " ");
  MPI_File_get_errhandler(MPI_FILE_NULL, &handler);
  CHECK(handler == MPI_ERRORS_RETURN, " ");
  MPI_File_get_atomicity(file, &flag);
  CHECK(!flag, " ");
  own_handler();
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  int block;
  check_start(&argc, &argv);
  if (check_rank == 0) snprintf(path, sizeof path, "%s/dunlin-files-%ld", check_folder(), (long)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  deleted_before(0);
  deleted_before(MPI_MODE_EXCL);
  opening();
  for (block = 1; block <= 100000; block *= 10) {
    const int blocks = block > 10000 ? 3 : 20000 / block;
    interleaved(block, blocks, 0, 0);
    interleaved(block, blocks, 1, 0);
    interleaved(block, blocks, 0, 1);
    interleaved(block, blocks, 1, 1);
  }
  pointers();
  nonblocking();
  representations();
  parts_of_types("native");
  parts_of_types("external32");
  counts_of_conversions();
  lengths_of_views();
  hints_and_handlers();
  return check_end();
}
