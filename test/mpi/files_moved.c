/* More than 2^31 bytes of each rank that are really moved, by one call each: one piece, pieces of 4 KiB and
 * of 64 B of all ranks in turn, alone and together, in the background, from memory with gaps.  That needs
 * 2.2 GB of memory and as much room in the file for each rank, and minutes; so only a short form of it runs
 * every day.
 * files_moved [bytes [folder]] ranks: 2 variants: none */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static char path[256];
static MPI_File file;
static MPI_Status status;
static uint64_t* data;
static MPI_Count words; /* of each rank */

static uint64_t word_of(int rank, MPI_Count i, int turn) {
  return ((uint64_t)i * 0x9e3779b97f4a7c15u + (uint64_t)rank * 77 + (uint64_t)turn) ^ ((uint64_t)i >> 29);
}

static void check_words(const char* what, int turn) {
  for (MPI_Count i = 0; i < words; ++i)
    CHECK(data[i] == word_of(check_rank, i, turn), "%s: word %lld of %lld", what, (long long)i,
          (long long)words);
}

static void check_count(const char* what, MPI_Datatype type, MPI_Count wanted) {
  MPI_Count count = -1;
  MPI_Get_count_c(&status, type, &count);
  CHECK(count == wanted, "%s: %lld, not %lld", what, (long long)count, (long long)wanted);
}

/* Pieces of all ranks in turn; 0: one of each. */
static void set_view(MPI_Count piece) {
  MPI_Datatype run, type;
  if (piece == 0) piece = words * 8;
  MPI_Type_contiguous_c(piece, MPI_BYTE, &run);
  MPI_Type_create_resized_c(run, 0, piece * check_size, &type);
  MPI_Type_commit(&type);
  CHECK_CALL(MPI_File_set_view(file, piece * check_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  MPI_Type_free(&run);
  MPI_Type_free(&type);
}

static void move(const char* what, MPI_Count piece, int way, int turn) {
  MPI_Request request;
  set_view(piece);
  for (MPI_Count i = 0; i < words; ++i) data[i] = word_of(check_rank, i, turn);
  for (int is_read = 0; is_read < 2; ++is_read) {
    if (is_read) memset(data, 0, (size_t)words * 8);
    switch (way) {
      case 0:
        CHECK_CALL(is_read ? MPI_File_read_at_c(file, 0, data, words, MPI_UINT64_T, &status)
                           : MPI_File_write_at_c(file, 0, data, words, MPI_UINT64_T, &status));
        break;
      case 1:
        CHECK_CALL(is_read ? MPI_File_read_at_all_c(file, 0, data, words, MPI_UINT64_T, &status)
                           : MPI_File_write_at_all_c(file, 0, data, words, MPI_UINT64_T, &status));
        break;
      case 2:
        CHECK_CALL(is_read ? MPI_File_iread_at_c(file, 0, data, words, MPI_UINT64_T, &request)
                           : MPI_File_iwrite_at_c(file, 0, data, words, MPI_UINT64_T, &request));
        CHECK_CALL(MPI_Wait(&request, &status));
        break;
      default:
        CHECK_CALL(is_read ? MPI_File_iread_at_all_c(file, 0, data, words, MPI_UINT64_T, &request)
                           : MPI_File_iwrite_at_all_c(file, 0, data, words, MPI_UINT64_T, &request));
        CHECK_CALL(MPI_Wait(&request, &status));
    }
    check_count(what, MPI_UINT64_T, words);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check_words(what, turn);
}

/* Every third word in memory, by a count that is an int. */
static void move_gaps(void) {
  MPI_Datatype type;
  const MPI_Count n = words / 3;
  set_view(0);
  MPI_Type_vector_c(n, 1, 3, MPI_UINT64_T, &type);
  MPI_Type_commit(&type);
  for (MPI_Count i = 0; i < words; ++i) data[i] = word_of(check_rank, i, 99);
  CHECK_CALL(MPI_File_write_at_all(file, 0, data, 1, type, &status));
  check_count("gaps", type, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(data, 0, (size_t)words * 8);
  CHECK_CALL(MPI_File_read_at_all(file, 0, data, 1, type, &status));
  check_count("gaps", type, 1);
  for (MPI_Count i = 0; i < 3 * n; ++i)
    CHECK(data[i] == (i % 3 == 0 ? word_of(check_rank, i, 99) : 0), "gaps: word %lld", (long long)i);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  int job = (int)getpid();
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin-files-moved-%d", argc > 2 ? argv[2] : check_folder(), job);
  words = (argc > 1 ? atoll(argv[1]) : 3 << 20) / 4096 * 512;
  data = malloc((size_t)words * 8);
  CHECK(data, "no memory");
  CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &file));
  move("one piece", 0, 0, 1);
  move("one piece, together", 0, 1, 2);
  move("one piece, in the background", 0, 2, 3);
  move("pages", 4096, 0, 4);
  move("pages, together", 4096, 1, 5);
  move("pages, together, in the background", 4096, 3, 6);
  move("short pieces", 64, 0, 7);
  move("short pieces, together", 64, 1, 8);
  move_gaps();
  CHECK_CALL(MPI_File_close(&file));
  free(data);
  return check_end();
}
