/* Two tables of the standard and of what programs know from elsewhere: how long each basic type is in a file
 * of the data representation external32, and its bytes; and hints, each of which MPI_File_get_info shows. */
#include <string.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

/* Items of a type: 'b' a truth value, 'c', 's', 'i', 'L' whole numbers of 1, 2, 4, 8 bytes, 'l' of 8 in
 * memory and 4 in the file, 'w' of 4 and 2, 'B' a truth value of 4; 'f', 'd', 'q' of 4, 8, 16, with a
 * fraction. */
typedef struct {
  MPI_Datatype type;
  const char* name;
  const char* items;
} Row;
#define ROW(type, items) {type, #type, items}

static const Row rows[] = {
    ROW(MPI_PACKED, "c"), ROW(MPI_BYTE, "c"), ROW(MPI_CHAR, "c"), ROW(MPI_SIGNED_CHAR, "c"),
    ROW(MPI_UNSIGNED_CHAR, "c"), ROW(MPI_WCHAR, "w"), ROW(MPI_SHORT, "s"), ROW(MPI_UNSIGNED_SHORT, "s"),
    ROW(MPI_INT, "i"), ROW(MPI_UNSIGNED, "i"), ROW(MPI_LONG, "l"), ROW(MPI_UNSIGNED_LONG, "l"),
    ROW(MPI_LONG_LONG, "L"), ROW(MPI_UNSIGNED_LONG_LONG, "L"), ROW(MPI_FLOAT, "f"), ROW(MPI_DOUBLE, "d"),
    ROW(MPI_LONG_DOUBLE, "q"), ROW(MPI_C_BOOL, "b"), ROW(MPI_INT8_T, "c"), ROW(MPI_INT16_T, "s"),
    ROW(MPI_INT32_T, "i"), ROW(MPI_INT64_T, "L"), ROW(MPI_UINT8_T, "c"), ROW(MPI_UINT16_T, "s"),
    ROW(MPI_UINT32_T, "i"), ROW(MPI_UINT64_T, "L"), ROW(MPI_AINT, "L"), ROW(MPI_COUNT, "L"),
    ROW(MPI_OFFSET, "L"), ROW(MPI_C_COMPLEX, "ff"), ROW(MPI_C_FLOAT_COMPLEX, "ff"),
    ROW(MPI_C_DOUBLE_COMPLEX, "dd"), ROW(MPI_C_LONG_DOUBLE_COMPLEX, "qq"), ROW(MPI_CXX_BOOL, "b"),
    ROW(MPI_CXX_FLOAT_COMPLEX, "ff"), ROW(MPI_CXX_DOUBLE_COMPLEX, "dd"),
    ROW(MPI_CXX_LONG_DOUBLE_COMPLEX, "qq"), ROW(MPI_CHARACTER, "c"), ROW(MPI_LOGICAL, "B"),
    ROW(MPI_INTEGER, "i"), ROW(MPI_REAL, "f"), ROW(MPI_DOUBLE_PRECISION, "d"), ROW(MPI_COMPLEX, "ff"),
    ROW(MPI_DOUBLE_COMPLEX, "dd"), ROW(MPI_INTEGER1, "c"), ROW(MPI_INTEGER2, "s"), ROW(MPI_INTEGER4, "i"),
    ROW(MPI_INTEGER8, "L"), ROW(MPI_REAL4, "f"), ROW(MPI_REAL8, "d"), ROW(MPI_COMPLEX8, "ff"),
    ROW(MPI_COMPLEX16, "dd"), ROW(MPI_FLOAT_INT, "fi"), ROW(MPI_DOUBLE_INT, "di"), ROW(MPI_LONG_INT, "li"),
    ROW(MPI_2INT, "ii"), ROW(MPI_SHORT_INT, "si"), ROW(MPI_LONG_DOUBLE_INT, "qi"), ROW(MPI_2REAL, "ff"),
    ROW(MPI_2DOUBLE_PRECISION, "dd"), ROW(MPI_2INTEGER, "ii"),
};

enum { kElements = 3, kRoom = 256 };

static int memory_bytes(char item) {
  return strchr("bc", item) ? 1 : item == 's' ? 2 : strchr("iwBf", item) ? 4 : item == 'q' ? 16 : 8;
}

/* The value with that number: in memory, and the bytes of the file; how many those are. */
static int put_item(char item, int number, unsigned char* in_memory, unsigned char* in_file) {
  static const int file_bytes['z'] = {['b'] = 1, ['c'] = 1, ['s'] = 2, ['i'] = 4, ['L'] = 8, ['l'] = 4,
                                      ['w'] = 2, ['B'] = 4, ['f'] = 4, ['d'] = 8, ['q'] = 16};
  const int bytes = file_bytes[(int)item];
  const float narrow = 1.5f + (float)number;
  const double wide = -1.5 - number;
  const long double widest = 1.5L; /* as 3fff8000... in the file */
  unsigned char whole[8] = {0};
  if (item == 'q') {
    memcpy(in_memory, &widest, 10);
    memset(in_file, 0, 16);
    in_file[0] = 0x3f, in_file[1] = 0xff, in_file[2] = 0x80;
    return bytes;
  }
  if (item == 'f')
    memcpy(whole, &narrow, 4);
  else if (item == 'd')
    memcpy(whole, &wide, 8);
  else if (strchr("bB", item))
    whole[0] = 1;
  else
    for (int i = 0; i < bytes; ++i) whole[i] = (unsigned char)(0x71 - 16 * i + number);
  memcpy(in_memory, whole, (size_t)memory_bytes(item));
  for (int i = 0; i < bytes; ++i) in_file[i] = whole[bytes - 1 - i];
  return bytes;
}

static void check_type(MPI_File file, MPI_File raw, const Row* row) {
  _Alignas(16) unsigned char out[kRoom] = {0}, in[kRoom] = {0}, wanted[kRoom] = {0}, found[kRoom] = {0};
  MPI_Aint lower, extent;
  MPI_Status status;
  int bytes = 0, count = -1, size;
  if (row->type == MPI_DATATYPE_NULL) return;
  MPI_Type_get_extent(row->type, &lower, &extent);
  MPI_Type_size(row->type, &size);
  for (int element = 0; element < kElements; ++element)
    for (int i = 0, at = 0; row->items[i]; ++i, at += memory_bytes(row->items[i - 1])) {
      const int unit = memory_bytes(row->items[i]);
      at = (at + unit - 1) / unit * unit;
      bytes += put_item(row->items[i], element + i, out + element * extent + at, wanted + bytes);
    }
  CHECK(MPI_File_set_view(file, 0, row->type, row->type, "external32", MPI_INFO_NULL) == MPI_SUCCESS, "%s",
        row->name);
  MPI_Aint in_file = -1;
  OK(MPI_File_get_type_extent(file, row->type, &in_file));
  CHECK(in_file * kElements == bytes, "%s has %ld bytes in the file, not %d", row->name, (long)in_file,
        bytes / kElements);
  if (check_rank == 0) OK(MPI_File_write_at(file, 0, out, kElements, row->type, &status));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_read_at(raw, 0, found, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < bytes; ++i)
    CHECK(found[i] == wanted[i], "byte %d of %s is %02x, not %02x", i, row->name, found[i], wanted[i]);
  OK(MPI_File_read_at_all(file, 0, in, kElements, row->type, &status));
  MPI_Get_count(&status, row->type, &count);
  CHECK(count == kElements, "%d of %s", count, row->name);
  CHECK(memcmp(in, out, sizeof in) == 0, "%s comes back otherwise", row->name);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void check_types(const char* path) {
  MPI_File file, raw;
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &raw));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) check_type(file, raw, &rows[i]);
  OK(MPI_File_close(&raw));
  OK(MPI_File_close(&file));
}

/* Of the standard, of ROMIO, and of its readers. */
static const char* const hints[][2] = {
    {"access_style", "write_once,sequential"}, {"collective_buffering", "true"}, {"cb_block_size", "4096"},
    {"cb_buffer_size", "65536"}, {"cb_nodes", "1"}, {"chunked", "100,100"}, {"chunked_item", "8"},
    {"chunked_size", "10,10"}, {"file_perm", "640"}, {"io_node_list", "a,b"}, {"nb_proc", "4"},
    {"num_io_nodes", "2"}, {"striping_factor", "4"}, {"striping_unit", "65536"},
    {"cb_config_list", "*:1"}, {"romio_cb_read", "enable"}, {"romio_cb_write", "enable"},
    {"romio_ds_read", "disable"}, {"romio_ds_write", "disable"}, {"romio_no_indep_rw", "true"},
    {"ind_rd_buffer_size", "4194304"}, {"ind_wr_buffer_size", "524288"}, {"romio_cb_pfr", "disable"},
    {"romio_cb_fr_types", "aar"}, {"romio_cb_fr_alignment", "1"}, {"romio_cb_ds_threshold", "0"},
    {"romio_cb_alltoall", "automatic"}, {"romio_lustre_ds_in_coll", "enable"}, {"direct_read", "false"},
    {"direct_write", "false"}, {"start_iodevice", "0"}, {"pfs_svr_buf", "false"},
    {"nc_header_align_size", "512"}, {"mpi_assert_memory_alloc_kinds", "system"},
};

static void check_shown(MPI_File file, int from, const char* when) {
  char value[MPI_MAX_INFO_VAL];
  MPI_Info used;
  OK(MPI_File_get_info(file, &used));
  for (size_t i = (size_t)from; i < sizeof hints / sizeof *hints; ++i) {
    int is_there = 0, room = sizeof value;
    MPI_Info_get_string(used, hints[i][0], &room, value, &is_there);
    CHECK(is_there && strcmp(value, hints[i][1]) == 0, "%s is %s, not %s, given to %s", hints[i][0],
          is_there ? value : "not there", hints[i][1], when);
  }
  MPI_Info_free(&used);
}

/* All but file_perm act, or are shown, also when they come later; the file has its permissions then. */
static void check_hints(const char* path) {
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  MPI_File file;
  MPI_Info info;
  MPI_Info_create(&info);
  for (size_t i = 0; i < sizeof hints / sizeof *hints; ++i) MPI_Info_set(info, hints[i][0], hints[i][1]);
  OK(MPI_File_open(MPI_COMM_WORLD, path, mode, info, &file));
  check_shown(file, 0, "MPI_File_open");
  OK(MPI_File_close(&file));
  MPI_Info_set(info, "file_perm", "666");
  for (int way = 0; way < 2; ++way) {
    OK(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
    if (way == 0)
      OK(MPI_File_set_info(file, info));
    else
      OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", info));
    check_shown(file, 9, way == 0 ? "MPI_File_set_info" : "MPI_File_set_view");
    OK(MPI_File_close(&file));
  }
  MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  char path[256];
  check_start(&argc, &argv);
  int job = (int)getpid();
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin-files-tables-%d", check_folder(), job);
  check_types(path);
  check_hints(path);
  return check_end();
}
