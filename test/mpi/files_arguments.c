/* A wrong argument on one rank of a collective call: that rank gets its error, the others go on without its
 * data, or get an error that names the rank.  Nobody hangs, and the next call is right again.
 *
 * ranks: 1 2 3 4 variants: none */
#include <string.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

static char path[256];
static MPI_File file;
static MPI_Datatype uncommitted;
static int is_wrong;  /* this rank gives the wrong argument */
static int value[16]; /* what this rank writes */

enum { kInts = 16 };

static int class_of(int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class;
}

/* The wrong rank's own error; nothing is wrong for the others. */
static void expect_own(int code, int class, const char* call) {
  CHECK(class_of(code) == (is_wrong ? class : MPI_SUCCESS), "%s answers class %d", call, class_of(code));
}

/* An error on all, with the number of the wrong rank where it is another's. */
static void expect_all(int code, int class, const char* call) {
  char text[MPI_MAX_ERROR_STRING], wanted[32];
  int length;
  CHECK(code != MPI_SUCCESS, "%s does not fail", call);
  MPI_Error_string(code, text, &length);
  if (is_wrong) {
    CHECK(class_of(code) == class, "%s answers class %d: %s", call, class_of(code), text);
    return;
  }
  snprintf(wanted, sizeof wanted, "rank %d ", check_size - 1);
  CHECK(strstr(text, wanted) && strstr(text, "argument"), "%s says: %s", call, text);
}

static void open_file(const char* mode) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", mode);
  MPI_Info_set(info, "romio_cb_read", mode);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info,
                   &file));
  MPI_Datatype one;
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(sizeof(int) * (size_t)check_size), &one);
  MPI_Type_commit(&one);
  OK(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * check_rank, MPI_INT, one, "native", info));
  MPI_Type_free(&one);
  MPI_Info_free(&info);
}

/* After each case: a good call finds every rank's data, and all shared pointers at one place. */
static void expect_good_calls(const char* after) {
  int found[kInts] = {0};
  OK(MPI_File_write_at_all(file, 100, value, kInts, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_all(file, 100, found, kInts, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(memcmp(found, value, sizeof value) == 0, "after %s", after);
  OK(MPI_File_sync(file));
}

static void try_transfers(void) {
  const int wrong_count = is_wrong ? -1 : kInts;
  const MPI_Datatype wrong_type = is_wrong ? uncommitted : MPI_INT;
  const MPI_Offset wrong_offset = is_wrong ? -3 : 0;
  int* const wrong_buffer = is_wrong ? NULL : value;
  MPI_Request request;
  int code;
  expect_own(MPI_File_write_at_all(file, 0, value, wrong_count, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_COUNT,
             "write_at_all");
  expect_own(MPI_File_write_at_all(file, wrong_offset, value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG,
             "write_at_all");
  expect_good_calls("write_at_all");
  expect_own(MPI_File_read_at_all(file, 0, value, 0, wrong_type, MPI_STATUS_IGNORE), MPI_ERR_TYPE,
             "read_at_all");
  expect_own(MPI_File_write_all(file, wrong_buffer, kInts, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_BUFFER,
             "write_all");
  expect_own(
      MPI_File_write_all(file, value, kInts, is_wrong ? MPI_DATATYPE_NULL : MPI_INT, MPI_STATUS_IGNORE),
      MPI_ERR_TYPE, "write_all");
  expect_good_calls("write_all");
  code = MPI_File_iwrite_all(file, value, wrong_count, MPI_INT, &request);
  expect_own(code, MPI_ERR_COUNT, "iwrite_all");
  if (code == MPI_SUCCESS) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  code = MPI_File_iwrite_at_all(file, 0, value, kInts, MPI_INT, is_wrong ? NULL : &request);
  expect_own(code, MPI_ERR_ARG, "iwrite_at_all");
  if (code == MPI_SUCCESS) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  expect_good_calls("iwrite_all");
  code = MPI_File_write_all_begin(file, wrong_buffer, kInts, MPI_INT);
  expect_own(code, MPI_ERR_BUFFER, "write_all_begin");
  if (code == MPI_SUCCESS) OK(MPI_File_write_all_end(file, wrong_buffer, MPI_STATUS_IGNORE));
  expect_good_calls("write_all_begin");
}

static void try_ordered(void) {
  const int wrong_count = is_wrong ? -1 : 2;
  MPI_Offset place = -1;
  int code;
  OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  expect_own(MPI_File_write_ordered(file, value, wrong_count, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_COUNT,
             "write_ordered");
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_get_position_shared(file, &place));
  CHECK(place == 2 * (check_size - 1), "the shared pointer is at %lld", (long long)place);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  code = MPI_File_write_ordered_begin(file, value, 2, is_wrong ? uncommitted : MPI_INT);
  expect_own(code, MPI_ERR_TYPE, "write_ordered_begin");
  if (code == MPI_SUCCESS) OK(MPI_File_write_ordered_end(file, value, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_get_position_shared(file, &place));
  CHECK(place == 4 * (check_size - 1), "the shared pointer is at %lld", (long long)place);
  expect_good_calls("write_ordered");
}

static void try_others(void) {
  MPI_Datatype good = MPI_INT;
  expect_all(MPI_File_set_view(file, 0, MPI_INT, is_wrong ? uncommitted : good, "native", MPI_INFO_NULL),
             MPI_ERR_TYPE, "set_view");
  expect_all(MPI_File_set_view(file, 0, is_wrong ? MPI_DATATYPE_NULL : good, good, "native", MPI_INFO_NULL),
             MPI_ERR_TYPE, "set_view");
  expect_all(MPI_File_set_view(file, is_wrong ? -1 : 0, good, good, "native", MPI_INFO_NULL), MPI_ERR_ARG,
             "set_view");
  expect_all(MPI_File_set_view(file, 0, good, good, is_wrong ? NULL : "native", MPI_INFO_NULL), MPI_ERR_ARG,
             "set_view");
  expect_own(MPI_File_set_info(file, is_wrong ? (MPI_Info)MPI_COMM_NULL : MPI_INFO_NULL), MPI_ERR_INFO,
             "set_info");
  expect_good_calls("set_view");
}

/* Closing while one rank's split collective has not ended; after that it can be closed again. */
static void try_close(void) {
  OK(MPI_File_write_all_begin(file, value, kInts, MPI_INT));
  if (!is_wrong) OK(MPI_File_write_all_end(file, value, MPI_STATUS_IGNORE));
  CHECK(MPI_File_close(&file) != MPI_SUCCESS, "a file is closed before a split collective ends");
  if (is_wrong) OK(MPI_File_write_all_end(file, value, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&file));
  CHECK(access(path, F_OK) != 0, "a file is left");
}

static void try_open(void) {
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  MPI_File other;
  expect_all(MPI_File_open(MPI_COMM_WORLD, is_wrong ? NULL : path, mode, MPI_INFO_NULL, &other), MPI_ERR_ARG,
             "open");
  CHECK(access(path, F_OK) != 0, "a file is left");
  expect_all(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, is_wrong ? NULL : &other), MPI_ERR_ARG,
             "open");
  expect_all(
      MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, is_wrong ? NULL : &other),
      MPI_ERR_ARG, "open");
  expect_all(MPI_File_open(MPI_COMM_WORLD, path, is_wrong ? 0 : mode, MPI_INFO_NULL, &other), MPI_ERR_AMODE,
             "open");
  expect_all(
      MPI_File_open(MPI_COMM_WORLD, path, mode, is_wrong ? (MPI_Info)MPI_COMM_NULL : MPI_INFO_NULL, &other),
      MPI_ERR_INFO, "open");
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  is_wrong = check_rank == check_size - 1;
  int number = (int)getpid();
  MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin_files_arguments_%d", check_folder(), number);
  MPI_Type_vector(4, 1, 2, MPI_INT, &uncommitted);
  for (int i = 0; i < kInts; ++i) value[i] = check_rank * kInts + i;
  try_open();
  static const char* const kModes[] = {"automatic", "enable", "disable"};
  for (int i = 0; i < 3; ++i) {
    open_file(kModes[i]);
    try_transfers();
    try_ordered();
    try_others();
    try_close();
  }
  MPI_Type_free(&uncommitted);
  return check_end();
}
