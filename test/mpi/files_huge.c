/* Counts of 2^32 and more, by every way: the calls of the kernel come here, and what they are to move is
 * noted and not moved.  Views with places beyond 2^40, in a file that is almost all holes. ranks: 1 3
 * variants: none
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")
#define VISIBLE __attribute__((visibility("default")))

static const MPI_Count kCount = ((MPI_Count)1 << 32) + 7;
static const MPI_Offset kFar = (MPI_Offset)1 << 41;

static char path[256];
static MPI_File file;
static char* data; /* never touched */

/* While `pretends`: what the kernel was asked for. */
static int pretends;
static long long moved, low, high;
static char* next; /* the place in memory that follows what was moved; null: any */

static ssize_t note(const struct iovec* pieces, int count, off_t at) {
  const long long limit = 0x7ffff000; /* as the kernel does */
  long long here = 0;
  for (int i = 0; i < count && here < limit; ++i) {
    const long long bytes =
        (long long)pieces[i].iov_len < limit - here ? (long long)pieces[i].iov_len : limit - here;
    CHECK(!next || pieces[i].iov_base == next, "%td bytes off", (char*)pieces[i].iov_base - next);
    if (next) next += bytes;
    here += bytes;
  }
  moved += here;
  if (at < low) low = at;
  if (at + here > high) high = at + here;
  return here;
}

VISIBLE ssize_t pwritev(int descriptor, const struct iovec* pieces, int count, off_t at) {
  return pretends ? note(pieces, count, at) : pwritev2(descriptor, pieces, count, at, 0);
}

VISIBLE ssize_t preadv(int descriptor, const struct iovec* pieces, int count, off_t at) {
  return pretends ? note(pieces, count, at) : preadv2(descriptor, pieces, count, at, 0);
}

VISIBLE ssize_t pwrite(int descriptor, const void* from, size_t bytes, off_t at) {
  const struct iovec piece = {(void*)from, bytes};
  return pwritev(descriptor, &piece, 1, at);
}

VISIBLE ssize_t pread(int descriptor, void* to, size_t bytes, off_t at) {
  const struct iovec piece = {to, bytes};
  return preadv(descriptor, &piece, 1, at);
}

VISIBLE int fallocate(int descriptor, int mode, off_t at, off_t bytes) {
  if (!pretends) return (int)syscall(SYS_fallocate, descriptor, mode, at, bytes);
  errno = ENOSPC;
  return -1;
}

static void begin(void) {
  moved = high = 0;
  low = kFar;
  next = data;
  pretends = 1;
}

/* What begins at `from`, and lies within `span` bytes of the file. */
static void end(const MPI_Status* status, MPI_Datatype type, long long from, long long span, int way) {
  MPI_Count count = -1;
  int size = 0, of_int = 0;
  pretends = 0;
  MPI_Type_size(type, &size);
  MPI_Get_count_c(status, type, &count);
  CHECK(count == kCount, "way %d: %lld", way, (long long)count);
  MPI_Get_count(status, type, &of_int);
  CHECK(of_int == MPI_UNDEFINED, "way %d: %d", way, of_int);
  CHECK(moved == kCount * size && low == from && high == from + span, "way %d: %lld bytes, %lld to %lld", way,
        moved, low, high);
}

static int is_shared(int way) { return way >= 20 && way < 24; }

static void every_way(MPI_Datatype type) {
  enum { kWays = 28 };
  MPI_Request request;
  MPI_Status status;
  int size = 0;
  MPI_Type_size(type, &size);
  const long long bytes = kCount * size;
  for (int way = 0; way < kWays; ++way) {
    /* Each rank's place, in bytes: those of explicit offsets, of its own pointer, of the shared one. */
    long long from = 1000 + check_rank;
    request = MPI_REQUEST_NULL;
    OK(MPI_File_seek(file, from, MPI_SEEK_SET));
    OK(MPI_File_seek_shared(file, 1000, MPI_SEEK_SET));
    if (way >= 16 && way < 20) from = 1000 + check_rank * bytes;
    begin();
    switch (way) {
      case 0:
        OK(MPI_File_write_at_c(file, from, data, kCount, type, &status));
        break;
      case 1:
        OK(MPI_File_read_at_c(file, from, data, kCount, type, &status));
        break;
      case 2:
        OK(MPI_File_write_c(file, data, kCount, type, &status));
        break;
      case 3:
        OK(MPI_File_read_c(file, data, kCount, type, &status));
        break;
      case 4:
        OK(MPI_File_write_at_all_c(file, from, data, kCount, type, &status));
        break;
      case 5:
        OK(MPI_File_read_at_all_c(file, from, data, kCount, type, &status));
        break;
      case 6:
        OK(MPI_File_write_all_c(file, data, kCount, type, &status));
        break;
      case 7:
        OK(MPI_File_read_all_c(file, data, kCount, type, &status));
        break;
      case 8:
        OK(MPI_File_iwrite_at_c(file, from, data, kCount, type, &request));
        break;
      case 9:
        OK(MPI_File_iread_at_c(file, from, data, kCount, type, &request));
        break;
      case 10:
        OK(MPI_File_iwrite_c(file, data, kCount, type, &request));
        break;
      case 11:
        OK(MPI_File_iread_all_c(file, data, kCount, type, &request));
        break;
      case 12:
        OK(MPI_File_iwrite_at_all_c(file, from, data, kCount, type, &request));
        break;
      case 13:
        OK(MPI_File_iread_at_all_c(file, from, data, kCount, type, &request));
        break;
      case 14:
        OK(MPI_File_write_at_all_begin_c(file, from, data, kCount, type));
        OK(MPI_File_write_at_all_end(file, data, &status));
        break;
      case 15:
        OK(MPI_File_read_all_begin_c(file, data, kCount, type));
        OK(MPI_File_read_all_end(file, data, &status));
        break;
      case 16:
        OK(MPI_File_write_ordered_c(file, data, kCount, type, &status));
        break;
      case 17:
        OK(MPI_File_read_ordered_c(file, data, kCount, type, &status));
        break;
      case 18:
        OK(MPI_File_write_ordered_begin_c(file, data, kCount, type));
        OK(MPI_File_write_ordered_end(file, data, &status));
        break;
      case 19:
        OK(MPI_File_read_ordered_begin_c(file, data, kCount, type));
        OK(MPI_File_read_ordered_end(file, data, &status));
        break;
      case 20:
        OK(MPI_File_write_shared_c(file, data, kCount, type, &status));
        break;
      case 21:
        OK(MPI_File_iread_shared_c(file, data, kCount, type, &request));
        break;
      case 22:
        OK(MPI_File_read_shared_c(file, data, kCount, type, &status));
        break;
      case 23:
        OK(MPI_File_iwrite_shared_c(file, data, kCount, type, &request));
        break;
      case 24:
        OK(MPI_File_read_at_all_begin_c(file, from, data, kCount, type));
        OK(MPI_File_read_at_all_end(file, data, &status));
        break;
      case 25:
        OK(MPI_File_write_all_begin_c(file, data, kCount, type));
        OK(MPI_File_write_all_end(file, data, &status));
        break;
      case 26:
        OK(MPI_File_iread_c(file, data, kCount, type, &request));
        break;
      case 27:
        OK(MPI_File_iwrite_all_c(file, data, kCount, type, &request));
        break;
    }
    if (request != MPI_REQUEST_NULL) OK(MPI_Wait(&request, &status));
    if (is_shared(way)) { /* in any order */
      from = low;
      CHECK((from - 1000) % bytes == 0 && (from - 1000) / bytes < check_size, "way %d: %lld", way, from);
    }
    end(&status, type, from, bytes, way);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Offset place = 0;
    if ((way >= 16 && way < 20) || is_shared(way)) {
      OK(MPI_File_get_position_shared(file, &place));
      CHECK(place == 1000 + check_size * bytes, "way %d: %lld", way, (long long)place);
    } else if (way == 2 || way == 3 || way == 6 || way == 7 || way == 10 || way == 11 || way == 15 ||
               way >= 25) {
      OK(MPI_File_get_position(file, &place));
      CHECK(place == from + bytes, "way %d: %lld", way, (long long)place);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Runs of 1 GiB, 3 GiB from one to the next. */
static void in_a_view(void) {
  const MPI_Count run = (MPI_Count)1 << 30;
  MPI_Status status;
  MPI_Datatype piece, type;
  MPI_Type_contiguous_c(run, MPI_BYTE, &piece);
  MPI_Type_create_resized_c(piece, 0, 3 * run, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, kFar / 2, MPI_BYTE, type, "native", MPI_INFO_NULL));
  for (int way = 0; way < 4; ++way) {
    begin();
    if (way == 0) OK(MPI_File_write_at_c(file, 77, data, kCount, MPI_BYTE, &status));
    if (way == 1) OK(MPI_File_read_at_c(file, 77, data, kCount, MPI_BYTE, &status));
    if (way == 2) OK(MPI_File_write_at_all_c(file, 77, data, kCount, MPI_BYTE, &status));
    if (way == 3) OK(MPI_File_read_at_all_c(file, 77, data, kCount, MPI_BYTE, &status));
    end(&status, MPI_BYTE, kFar / 2 + 77, 12 * run + 7, way);
  }
  MPI_Type_free(&piece);
  MPI_Type_free(&type);
}

/* So many elements of no bytes; and more than there are bytes below 2^63. */
static void nothing_and_too_much(void) {
  MPI_Status status;
  MPI_Datatype empty;
  int error_class = MPI_SUCCESS;
  MPI_Count extent = 0;
  OK(MPI_File_get_type_extent_c(file, MPI_DOUBLE, &extent));
  CHECK(extent == sizeof(double), "%lld", (long long)extent);
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_write_at_c(file, 0, data, kCount << 20, empty, &status));
  OK(MPI_File_write_at_all_c(file, 0, data, kCount << 20, empty, &status));
  OK(MPI_File_read_ordered_c(file, data, kCount << 20, empty, &status));
  MPI_Error_class(MPI_File_write_at_c(file, 0, data, (MPI_Count)1 << 61, MPI_DOUBLE, &status), &error_class);
  CHECK(error_class == MPI_ERR_ARG, "%d", error_class);
  MPI_Error_class(MPI_File_read_at_all_c(file, 1, data, 0x7fffffffffffffffLL, MPI_BYTE, &status),
                  &error_class);
  CHECK(error_class == MPI_ERR_ARG, "%d", error_class);
  MPI_Type_free(&empty);
}

/* Data that is moved: 4 bytes of each 2^34, behind 2^41. */
static void far_apart(const char* collective) {
  enum { kPieces = 16 };
  const MPI_Count distance = (MPI_Count)1 << 34;
  const MPI_Offset begin_at = kFar + 4 * check_rank;
  int out[kPieces], in[kPieces], one = 0;
  MPI_Datatype type;
  MPI_Info info;
  MPI_Offset place = 0;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", collective);
  MPI_Info_set(info, "romio_cb_read", collective);
  MPI_Type_create_resized_c(MPI_INT, 0, distance, &type);
  MPI_Type_commit(&type);
  OK(MPI_File_set_view(file, begin_at, MPI_INT, type, "native", info));
  for (int i = 0; i < kPieces; ++i) out[i] = check_rank * 1000 + i;
  memset(in, 0, sizeof in);
  OK(MPI_File_write_at_all(file, 0, out, kPieces, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_all(file, 0, in, kPieces, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(memcmp(in, out, sizeof in) == 0, "%s", collective);
  OK(MPI_File_get_byte_offset(file, kPieces - 1, &place));
  CHECK(place == begin_at + (kPieces - 1) * distance, "%lld", (long long)place);
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at(file, place, &one, 4, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(one == out[kPieces - 1], "%d", one);
  MPI_Type_free(&type);
  MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  int job = (int)getpid();
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin-files-huge-%d", check_folder(), job);
  data = mmap(NULL, (size_t)(4 * kCount), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
              -1, 0);
  CHECK(data != MAP_FAILED, " ");
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  every_way(MPI_BYTE);
  every_way(MPI_INT);
  in_a_view();
  nothing_and_too_much();
  far_apart("automatic");
  far_apart("enable");
  far_apart("disable");
  OK(MPI_File_close(&file));
  return check_end();
}
