/* Random accesses against an array that holds what the file has to hold: views of random blocks, of which
 * every rank has some, memory with gaps, a file that grows and is cut, hints, modes of opening, every way to
 * name a place, to work together and to wait.  "large": a file of several large pages, and often views that
 * together leave nothing out, or little.  Prints its seed where it fails. files_random [seed [rounds [folder
 * [large]]]] variants: none
 */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kBytesMax = 9 << 20, kBlocksMax = 40000 };
static int is_large, bytes_max = 1 << 18, blocks_max = 600; /* of the file */
/* Of a place: kAt by an offset, kOwn by the rank's own pointer, kShared by that of all; kOrdered in order. */
enum { kAt, kAtAll, kAtAllSplit, kOwn, kAll, kAllSplit, kOrdered, kOrderedSplit, kShared, kPlaces };

static unsigned long long state; /* the same on all ranks */

static unsigned random_below(unsigned n) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % n;
}

static unsigned char model[kBytesMax];
static int model_bytes; /* of the file; behind them the model is 0 */
static unsigned char buffer[2 * kBytesMax], wanted[kBytesMax];
static MPI_File file;
static char path[256];
static unsigned long seed;
static int round_number;

/* The file cut into blocks, each of one rank, or of nobody. */
typedef struct {
  int count, disp, end;
  int owner[kBlocksMax], start[kBlocksMax], length[kBlocksMax];
} Cut;

static void add_block(Cut* cut, int owner, int length) {
  cut->owner[cut->count] = owner;
  cut->start[cut->count] = cut->end;
  cut->length[cut->count++] = length;
  cut->end += length;
}

/* Blocks of one length, of all ranks in turn; `with_holes`: half of the last rank's are nobody's. */
static void cut_evenly(Cut* cut, int with_holes) {
  static const int lengths[] = {60, 300, 4096, 4096, 8192, 700000};
  const int length = lengths[random_below(6)];
  cut->disp = cut->end = random_below(4) ? 0 : (int)random_below(3000000);
  while (cut->count < blocks_max && cut->end + length <= bytes_max) {
    const int rank = cut->count % check_size;
    const int is_hole = with_holes && rank == check_size - 1 && random_below(2);
    add_block(cut, is_hole ? check_size : rank, length);
  }
}

static void cut_anyhow(Cut* cut) {
  static const int lengths[] = {1, 3, 8, 64, 500, 4096, 20000, 400000, 3000000};
  const unsigned longest = (unsigned)lengths[is_large ? 2 + random_below(7) : random_below(7)];
  cut->disp = cut->end = (int)random_below(100);
  while (cut->count < blocks_max) {
    const int length = 1 + (int)random_below(longest);
    if (cut->end + length > bytes_max) break;
    add_block(cut, (int)random_below((unsigned)check_size + 1), length);
  }
}

static const Cut* cut_file(void) {
  static Cut cut;
  cut.count = 0;
  if (is_large && random_below(3))
    cut_evenly(&cut, random_below(3) == 0);
  else
    cut_anyhow(&cut);
  return &cut;
}

/* All views of a large file have one extent: they leave nothing out also from one tile to the next. */
static MPI_Datatype filetype_of(const Cut* cut, int rank, int* bytes) {
  static int lengths[kBlocksMax], starts[kBlocksMax];
  int n = 0, i;
  MPI_Datatype blocks, type;
  for (*bytes = 0, i = 0; i < cut->count; ++i)
    if (cut->owner[i] == rank) {
      lengths[n] = cut->length[i];
      starts[n++] = cut->start[i] - cut->disp;
      *bytes += cut->length[i];
    }
  MPI_Type_indexed(n, lengths, starts, MPI_BYTE, &blocks);
  if (is_large)
    MPI_Type_create_resized(blocks, 0, cut->end - cut->disp, &type);
  else
    MPI_Type_dup(blocks, &type);
  MPI_Type_free(&blocks);
  MPI_Type_commit(&type);
  return type;
}

/* Bytes [skip, skip + n) of a rank's view, from or to `data`; how many the file has. */
static int in_model(const Cut* cut, int rank, int skip, int n, unsigned char* data, int is_write) {
  int i, j, there = 0;
  for (i = 0; i < cut->count && n > 0; ++i) {
    if (cut->owner[i] != rank) continue;
    for (j = 0; j < cut->length[i] && n > 0; ++j) {
      if (skip > 0) {
        --skip;
        continue;
      }
      const int at = cut->start[i] + j;
      if (is_write) {
        model[at] = *data++;
        if (at >= model_bytes) model_bytes = at + 1;
      } else {
        *data++ = model[at];
      }
      if (at < model_bytes) ++there;
      --n;
    }
  }
  return there;
}

/* Makes the file longer or shorter. */
static void set_size(int bytes) {
  CHECK(MPI_File_set_size(file, bytes) == MPI_SUCCESS, "seed %lu, round %d", seed, round_number);
  if (bytes < model_bytes) memset(model + bytes, 0, (size_t)(model_bytes - bytes));
  model_bytes = bytes;
}

static unsigned char byte_of(int rank, int i) {
  return (unsigned char)(rank * 37 + i * 11 + round_number * 5);
}

static MPI_Request request;
static MPI_Status status;

static int read_file(int place, int is_waited_for, int skip, void* data, int count, MPI_Datatype type) {
  switch (place) {
    case kAt:
      return is_waited_for ? MPI_File_iread_at(file, skip, data, count, type, &request)
                           : MPI_File_read_at(file, skip, data, count, type, &status);
    case kAtAll:
      return is_waited_for ? MPI_File_iread_at_all(file, skip, data, count, type, &request)
                           : MPI_File_read_at_all(file, skip, data, count, type, &status);
    case kAtAllSplit:
      MPI_File_read_at_all_begin(file, skip, data, count, type);
      return MPI_File_read_at_all_end(file, data, &status);
    case kOwn:
      return is_waited_for ? MPI_File_iread(file, data, count, type, &request)
                           : MPI_File_read(file, data, count, type, &status);
    case kAll:
      return is_waited_for ? MPI_File_iread_all(file, data, count, type, &request)
                           : MPI_File_read_all(file, data, count, type, &status);
    case kAllSplit:
      MPI_File_read_all_begin(file, data, count, type);
      return MPI_File_read_all_end(file, data, &status);
    case kOrdered:
      return MPI_File_read_ordered(file, data, count, type, &status);
    case kOrderedSplit:
      MPI_File_read_ordered_begin(file, data, count, type);
      return MPI_File_read_ordered_end(file, data, &status);
    default:
      return is_waited_for ? MPI_File_iread_shared(file, data, count, type, &request)
                           : MPI_File_read_shared(file, data, count, type, &status);
  }
}

static int write_file(int place, int is_waited_for, int skip, void* data, int count, MPI_Datatype type) {
  switch (place) {
    case kAt:
      return is_waited_for ? MPI_File_iwrite_at(file, skip, data, count, type, &request)
                           : MPI_File_write_at(file, skip, data, count, type, &status);
    case kAtAll:
      return is_waited_for ? MPI_File_iwrite_at_all(file, skip, data, count, type, &request)
                           : MPI_File_write_at_all(file, skip, data, count, type, &status);
    case kAtAllSplit:
      MPI_File_write_at_all_begin(file, skip, data, count, type);
      return MPI_File_write_at_all_end(file, data, &status);
    case kOwn:
      return is_waited_for ? MPI_File_iwrite(file, data, count, type, &request)
                           : MPI_File_write(file, data, count, type, &status);
    case kAll:
      return is_waited_for ? MPI_File_iwrite_all(file, data, count, type, &request)
                           : MPI_File_write_all(file, data, count, type, &status);
    case kAllSplit:
      MPI_File_write_all_begin(file, data, count, type);
      return MPI_File_write_all_end(file, data, &status);
    case kOrdered:
      return MPI_File_write_ordered(file, data, count, type, &status);
    case kOrderedSplit:
      MPI_File_write_ordered_begin(file, data, count, type);
      return MPI_File_write_ordered_end(file, data, &status);
    default:
      return is_waited_for ? MPI_File_iwrite_shared(file, data, count, type, &request)
                           : MPI_File_write_shared(file, data, count, type, &status);
  }
}

/* One access of all ranks, of which `n` bytes are to be moved; `place` and `is_waited_for` are the same
 * everywhere. */
static void access_file(int is_write, int place, int is_waited_for, int skip, int n, void* data, int count,
                        MPI_Datatype type) {
  int got = -1;
  request = MPI_REQUEST_NULL;
  if (place >= kOwn && place < kOrdered) MPI_File_seek(file, skip, MPI_SEEK_SET);
  const int error = is_write ? write_file(place, is_waited_for, skip, data, count, type)
                             : read_file(place, is_waited_for, skip, data, count, type);
  CHECK(error == MPI_SUCCESS, "seed %lu, round %d, place %d", seed, round_number, place);
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_BYTE, &got);
  CHECK(got == n, "%d bytes, not %d; seed %lu, round %d, place %d", got, n, seed, round_number, place);
}

/* The same on all ranks; the next ones take the place of those before. */
static MPI_Info random_hints(void) {
  static const char* const choices[] = {"enable", "disable", "automatic"};
  static const char* const keys[] = {"romio_cb_read", "romio_cb_write", "romio_ds_read", "romio_ds_write"};
  static const char* const units[] = {"4096", "5000", "65536"};
  char number[16];
  MPI_Info hints;
  MPI_Info_create(&hints);
  for (int i = 0; i < 4; ++i) MPI_Info_set(hints, keys[i], choices[random_below(3)]);
  snprintf(number, sizeof number, "%u", 1 + random_below((unsigned)check_size));
  MPI_Info_set(hints, "cb_nodes", number);
  snprintf(number, sizeof number, "%u", 1u << (12 + random_below(is_large ? 12 : 8)));
  MPI_Info_set(hints, "cb_buffer_size", number);
  MPI_Info_set(hints, "striping_unit", units[random_below(3)]);
  return hints;
}

/* The same file again, as programs open it that only write, only read, or go on at its end. */
static void reopen(int is_write) {
  static const int modes[] = {MPI_MODE_RDWR, MPI_MODE_RDWR | MPI_MODE_APPEND,
                              MPI_MODE_RDWR | MPI_MODE_UNIQUE_OPEN, MPI_MODE_WRONLY,
                              MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_APPEND};
  const int mode = random_below(2) ? modes[random_below(is_write ? 5 : 3)]
                   : is_write      ? MPI_MODE_WRONLY
                                   : MPI_MODE_RDONLY;
  MPI_Info hints = random_below(2) && !getenv("DUNLIN_FILE_COLLECTIVE") ? random_hints() : MPI_INFO_NULL;
  MPI_Offset place = -1, shared = -1;
  MPI_File_close(&file);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, mode, hints, &file) == MPI_SUCCESS, "seed %lu, round %d, mode %d",
        seed, round_number, mode);
  if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
  const int wanted = mode & MPI_MODE_APPEND ? model_bytes : 0;
  MPI_File_get_position(file, &place);
  MPI_File_get_position_shared(file, &shared);
  CHECK(place == wanted && shared == wanted, "%lld and %lld, not %d; seed %lu, round %d, mode %d",
        (long long)place, (long long)shared, wanted, seed, round_number, mode);
}

/* Some of each rank's view, in memory with gaps or without. */
static void one_round(void) {
  /* What makes large pages: all of a new file is written, most often by each rank alone. */
  const int is_new = is_large && random_below(2), is_whole = is_new && random_below(4);
  const int is_write = is_new || random_below(2), gap = random_below(is_new ? 4 : 2) == 0;
  const int place = is_new && random_below(3) ? kAt : (int)random_below(kPlaces);
  const int is_waited_for = (int)random_below(2);
  const int has_hints = random_below(3) == 0 && !getenv("DUNLIN_FILE_COLLECTIVE"); /* that is the way to go */
  const int is_shared = place >= kOrdered;
  const Cut* const cut = cut_file();
  MPI_Info hints = MPI_INFO_NULL;
  MPI_Datatype filetype, memory = MPI_BYTE;
  int bytes, rank, i, all[64], skip[64];
  if (is_new)
    set_size(0);
  else if (random_below(5) == 0)
    set_size(random_below(2) ? 0 : (int)random_below((unsigned)bytes_max));
  MPI_Barrier(MPI_COMM_WORLD);
  const int is_reopened = random_below(6) == 0;
  if (is_reopened) reopen(is_write);
  MPI_File_set_atomicity(file, random_below(8) == 0);
  for (rank = 0; rank < check_size; ++rank) {
    const int owner =
        is_shared ? 0 : rank; /* with the shared pointer all have one view, and lie behind each other in it */
    const int owned = (filetype = filetype_of(cut, owner, &bytes), MPI_Type_free(&filetype), bytes);
    const int from = is_shared && rank > 0 ? skip[rank - 1] + all[rank - 1] : 0;
    const unsigned left = (unsigned)(owned - from);
    skip[rank] = from + (left > 0 && !(is_shared && rank > 0) ? (int)random_below(left) : 0);
    all[rank] = (int)random_below((unsigned)(owned - skip[rank]) + 1);
    if (is_whole && !is_shared) skip[rank] = 0, all[rank] = owned;
  }
  filetype = filetype_of(cut, is_shared ? 0 : check_rank, &bytes);
  if (has_hints) hints = random_hints();
  if (bytes > 0)
    MPI_File_set_view(file, cut->disp, MPI_BYTE, filetype, "native", hints);
  else
    MPI_File_set_view(file, cut->disp, MPI_BYTE, MPI_BYTE, "native", hints);
  if (has_hints) MPI_Info_free(&hints);
  const int n = all[check_rank], step = gap ? 2 : 1;
  if (gap) {
    MPI_Type_vector(n, 1, 2, MPI_BYTE, &memory);
    MPI_Type_commit(&memory);
  }
  memset(buffer, 0xcd, 2 * (size_t)bytes_max);
  for (i = 0; is_write && i < n; ++i) buffer[i * step] = byte_of(check_rank, i);
  const int view = is_shared ? 0 : check_rank;
  const int there = is_write ? n : in_model(cut, view, skip[check_rank], n, wanted, 0);
  if (is_shared) MPI_File_seek_shared(file, skip[0], MPI_SEEK_SET);
  for (rank = 0; rank < check_size; ++rank) { /* one after the other, where the order is that of coming */
    if (place != kShared ? rank == 0 : rank == check_rank)
      access_file(is_write, place, is_waited_for, skip[check_rank], there, buffer, gap ? 1 : n, memory);
    if (place == kShared) MPI_Barrier(MPI_COMM_WORLD);
  }
  if (is_write) {
    for (rank = 0; rank < check_size; ++rank) {
      for (i = 0; i < all[rank]; ++i) wanted[i] = byte_of(rank, i);
      in_model(cut, is_shared ? 0 : rank, skip[rank], all[rank], wanted, 1);
    }
  } else {
    for (i = 0; i < there; ++i)
      CHECK(buffer[i * step] == wanted[i], "byte %d of %d: %d, not %d; seed %lu, round %d, place %d", i,
            there, buffer[i * step], wanted[i], seed, round_number, place);
  }
  if (gap) MPI_Type_free(&memory);
  MPI_Type_free(&filetype);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file); /* of others, by the standard */
  MPI_Offset size = -1;
  MPI_File_get_size(file, &size);
  CHECK(size == model_bytes, "%lld bytes, not %d; seed %lu, round %d, place %d", (long long)size, model_bytes,
        seed, round_number, place);
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_reopened) {
    MPI_File_close(&file);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  }
}

int main(int argc, char** argv) {
  int rounds = argc > 2 ? atoi(argv[2]) : 60;
  is_large = argc > 4;
  if (is_large) bytes_max = kBytesMax, blocks_max = kBlocksMax;
  check_start(&argc, &argv);
  seed = argc > 1 && atol(argv[1]) ? (unsigned long)atol(argv[1]) : (unsigned long)getpid();
  MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  state = seed;
  snprintf(path, sizeof path, "%s/dunlin-files-random-%lu", argc > 3 ? argv[3] : check_folder(), seed);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  set_size(0); /* a run that was killed leaves its file */
  set_size(bytes_max);
  MPI_Barrier(MPI_COMM_WORLD);
  for (round_number = 0; round_number < rounds; ++round_number) one_round();
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at_all(file, 0, buffer, bytes_max, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK(memcmp(buffer, model, (size_t)model_bytes) == 0, "seed %lu", seed);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) CHECK(MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS, "seed %lu", seed);
  return check_end();
}
