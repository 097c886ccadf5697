/* Random views of many tiles against an array of elements: etypes of one number or several, filetypes made of
 * blocks by two constructors, data representations native, external32 and one that the program registers,
 * memory with gaps, every way to work together, nothing on some ranks, a file that ends anywhere.  Prints its
 * seed where it fails.  files_views [seed [rounds]]  variants: none */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kElements = 20000, kTileMax = 40, kWays = 6 };

static unsigned long long state; /* the same on all ranks */
static unsigned long seed;
static int round_number;
static MPI_File file;

static int random_below(int n) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (int)((state >> 33) % (unsigned)n);
}

/* "reversed": of each number the bytes the other way round, and a byte more. */
static int reversed_extent(MPI_Datatype type, MPI_Aint* extent, void* state_of) {
  int size = 0;
  (void)state_of;
  MPI_Type_size(type, &size);
  *extent = size + 1;
  return MPI_SUCCESS;
}

/* The memory of this program's accesses: numbers `gap` numbers apart, as `convert` has to know. */
static int gap;

static int convert(char* user, int size, int count, char* in_file, MPI_Offset position, int to_file) {
  for (int i = 0; i < count; ++i) {
    char* const memory = user + (position + i) * size * gap;
    char* const there = in_file + (MPI_Offset)i * (size + 1);
    for (int j = 0; j < size; ++j)
      if (to_file)
        there[j] = memory[size - 1 - j];
      else
        memory[size - 1 - j] = there[j];
    if (to_file) there[size] = 'r';
    if (!to_file) CHECK(there[size] == 'r' || there[size] == 0, "%d", there[size]); /* or nobody wrote it */
  }
  return MPI_SUCCESS;
}

static int number_bytes; /* of the round's type */

static int to_memory(void* user, MPI_Datatype type, int count, void* in_file, MPI_Offset position, void* s) {
  (void)type, (void)s;
  return convert(user, number_bytes, count, in_file, position, 0);
}

static int to_file(void* user, MPI_Datatype type, int count, void* in_file, MPI_Offset position, void* s) {
  (void)type, (void)s;
  return convert(user, number_bytes, count, in_file, position, 1);
}

/* A tile of so many numbers, of which each has an owner; check_size is nobody. */
static int tile, owner[kTileMax];

static MPI_Datatype filetype_of(int rank, MPI_Datatype number, int* owned) {
  int starts[kTileMax], n = 0, lengths[kTileMax];
  MPI_Datatype blocks, sized;
  MPI_Aint lower = 0, extent = 0;
  for (int i = 0; i < tile; ++i)
    if (owner[i] == rank) lengths[n] = 1, starts[n++] = i;
  *owned = n;
  if (n == 0) return MPI_DATATYPE_NULL;
  MPI_Type_indexed(n, lengths, starts, number, &blocks);
  MPI_File_get_type_extent(file, number, &extent);
  MPI_Type_create_resized(blocks, lower, extent * tile, &sized);
  MPI_Type_commit(&sized);
  MPI_Type_free(&blocks);
  return sized;
}

/* The element of the file that is number `i` of a rank's view. */
static int element_of(int rank, int i) {
  int owned = 0, at;
  for (at = 0; at < tile; ++at) owned += owner[at] == rank;
  int left = i % owned;
  for (at = 0; owner[at] != rank || left-- > 0; ++at) {
  }
  return i / owned * tile + at;
}

static void put(char* at, int value) {
  if (number_bytes == 8)
    *(double*)at = value;
  else if (number_bytes == 2)
    *(short*)at = (short)value;
  else
    *(int*)at = value;
}

static int get(const char* at) {
  return number_bytes == 8   ? (int)*(const double*)at
         : number_bytes == 2 ? *(const short*)at
                             : *(const int*)at;
}

static int move(int is_write, int way, int etype, char* data, int count, MPI_Datatype type) {
  MPI_Status status;
  MPI_Request request;
  int n = -1;
  if (way == 1 || way == 3) MPI_File_seek(file, etype, MPI_SEEK_SET);
  if (way == 0)
    is_write ? MPI_File_write_at(file, etype, data, count, type, &status)
             : MPI_File_read_at(file, etype, data, count, type, &status);
  if (way == 1)
    is_write ? MPI_File_write(file, data, count, type, &status)
             : MPI_File_read(file, data, count, type, &status);
  if (way == 2)
    is_write ? MPI_File_write_at_all(file, etype, data, count, type, &status)
             : MPI_File_read_at_all(file, etype, data, count, type, &status);
  if (way == 3) {
    is_write ? MPI_File_write_all_begin(file, data, count, type)
             : MPI_File_read_all_begin(file, data, count, type);
    is_write ? MPI_File_write_all_end(file, data, &status) : MPI_File_read_all_end(file, data, &status);
  }
  if (way == 4)
    is_write ? MPI_File_iwrite_at_all(file, etype, data, count, type, &request)
             : MPI_File_iread_at_all(file, etype, data, count, type, &request);
  if (way == 5)
    is_write ? MPI_File_iwrite_at(file, etype, data, count, type, &request)
             : MPI_File_iread_at(file, etype, data, count, type, &request);
  if (way >= 4) MPI_Wait(&request, &status);
  MPI_Get_elements(&status, type, &n);
  return n;
}

/* All ranks write what is theirs, or some of it, then all read everything by other ways, and beyond its end.
 */
static void one_round(void) {
  static int model[kElements];
  static char data[4 * kElements * 8];
  static const char* const names[] = {"native", "external32", "reversed"};
  const MPI_Datatype numbers[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT};
  const int which = random_below(3), is_atomic = random_below(6) == 0, disp = random_below(50);
  const char* const name = names[random_below(3)];
  MPI_Datatype memory, filetype, number = numbers[which];
  int owned = 0, last = -1, from = 0;
  MPI_Type_size(number, &number_bytes);
  gap = 1 + random_below(2);
  tile = 1 + random_below(kTileMax);
  for (int i = 0; i < tile; ++i) owner[i] = random_below(check_size + 1);
  memset(model, 0xff, sizeof model);
  MPI_Type_create_resized(number, 0, (MPI_Aint)number_bytes * gap, &memory);
  MPI_Type_commit(&memory);
  MPI_File_set_atomicity(file, is_atomic);
  MPI_File_set_size(file, 0);
  MPI_File_set_view(file, disp, number, number, name, MPI_INFO_NULL); /* as get_type_extent looks there */
  filetype = filetype_of(check_rank, number, &owned);
  if (owned > 0)
    MPI_File_set_view(file, disp, number, filetype, name, MPI_INFO_NULL);
  else
    MPI_File_set_view(file, disp, number, number, name, MPI_INFO_NULL);
  /* What of each rank's view. */
  const int way = random_below(kWays);
  for (int rank = 0; rank < check_size; ++rank) {
    int theirs = 0;
    for (int i = 0; i < tile; ++i) theirs += owner[i] == rank;
    const int tiles = 1 + random_below(kElements / tile / 2), most = tiles * theirs;
    const int first = most > 0 ? random_below(most) : 0,
              count = most > 0 ? random_below(most - first + 1) : 0;
    for (int i = 0; i < count; ++i) {
      const int element = element_of(rank, first + i);
      model[element] = element * 3 + round_number;
      if (which == 2) model[element] = (short)model[element];
      if (element > last) last = element;
      if (rank == check_rank) put(data + (size_t)i * number_bytes * gap, model[element]);
    }
    if (rank == check_rank && way == 0) MPI_File_seek(file, 0, MPI_SEEK_SET);
    if (rank == check_rank) owned = count, from = first;
  }
  const int moved = move(1, way, from, data, owned, memory);
  CHECK(moved == owned, "%d of %d written; seed %lu, round %d, %s", moved, owned, seed, round_number, name);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  /* From its beginning, and more than there is. */
  int theirs = 0;
  for (int i = 0; i < tile; ++i) theirs += owner[i] == check_rank;
  const int wanted = theirs > 0 ? (kElements / tile) * theirs : 0;
  int there = 0;
  while (there < wanted && element_of(check_rank, there) <= last) ++there;
  memset(data, 0xcd, sizeof data);
  const int read_way = random_below(kWays);
  const int found = move(0, read_way, 0, data, wanted, memory);
  CHECK(found == there, "%d of %d read; seed %lu, round %d, %s, way %d", found, there, seed, round_number,
        name, read_way);
  for (int i = 0; i < there && i < found; ++i) {
    const int element = element_of(check_rank, i);
    if (model[element] == -1) continue; /* nobody wrote it */
    const int value = get(data + (size_t)i * number_bytes * gap);
    CHECK(value == model[element], "element %d is %d, not %d; seed %lu, round %d, %s, ways %d and %d",
          element, value, model[element], seed, round_number, name, way, read_way);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (filetype != MPI_DATATYPE_NULL) MPI_Type_free(&filetype);
  MPI_Type_free(&memory);
}

int main(int argc, char** argv) {
  char path[256];
  const int rounds = argc > 2 ? atoi(argv[2]) : 60;
  check_start(&argc, &argv);
  seed = argc > 1 && atol(argv[1]) ? (unsigned long)atol(argv[1]) : (unsigned long)getpid();
  MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  state = seed;
  snprintf(path, sizeof path, "%s/dunlin-files-views-%lu", check_folder(), seed);
  MPI_Register_datarep("reversed", to_memory, to_file, reversed_extent, NULL);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  for (round_number = 0; round_number < rounds; ++round_number) one_round();
  MPI_File_close(&file);
  return check_end();
}
